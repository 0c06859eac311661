"""DuckDB: the functions of `qbcd.sites.lake.engines.spark` over queries of a local database."""
