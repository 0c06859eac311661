"""The tests of qbcd; CONTRIBUTING.md says what each folder is for."""
