"""Programs that check qbcd's own code; no part of the package."""
