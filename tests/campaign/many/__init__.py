"""Campaign: many streams of one source."""
