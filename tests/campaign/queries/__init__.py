"""Many queries under every variant."""
