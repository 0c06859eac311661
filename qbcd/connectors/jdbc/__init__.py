"""The tier for any database with a JDBC driver: profiles of dialects, and the rules of their URLs."""
