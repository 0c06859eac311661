"""Large or drawn tables in the lake wing."""
