"""The sdist and the wheel, installed elsewhere."""
