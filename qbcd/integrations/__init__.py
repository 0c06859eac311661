"""Streams in orchestrators: an operator for Airflow, assets for Dagster.

Each module imports its framework, which is an extra; nothing else of qbcd imports these modules.
"""
