"""What every connector, strategy, site and sink of a kind must do, over all of them."""
