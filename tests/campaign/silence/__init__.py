"""Sources that fall silent in the middle of polls."""
