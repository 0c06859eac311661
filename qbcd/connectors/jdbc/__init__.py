"""The tier for any database with a JDBC driver: profiles of dialects, rules of their URLs."""
