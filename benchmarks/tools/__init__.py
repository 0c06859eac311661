"""Other tools that find changes, each behind the one interface of `base`."""
