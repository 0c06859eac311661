"""Rules for every connector, strategy, site and sink, each tested over all of its kind."""
