"""Both wings: guards, keys, unchanged sources, changes of meaning."""
