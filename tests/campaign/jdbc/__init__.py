"""Tests of databases that a JDBC driver alone reaches."""
