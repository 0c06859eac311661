"""Stores: places of files, a local folder or an object store, with one interface."""
