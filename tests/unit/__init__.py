"""Pure code: no server, no Spark, no files outside a temporary folder."""
