"""State databases, damaged state, orphaned streams."""
