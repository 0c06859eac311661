"""Sinks with a topic per stream, on Kafka: connections, transactions, envelopes."""
