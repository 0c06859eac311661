"""Both wings: guards, keys, unchanged sources, changes of the captured definition."""
