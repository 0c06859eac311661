"""Tables that are altered, replaced or rewritten while streams capture them."""
