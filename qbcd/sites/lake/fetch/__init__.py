"""Ways to fetch the rows of dirty ranges."""
