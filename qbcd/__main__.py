"""``python -m qbcd``: the command line."""

from __future__ import annotations

from qbcd.cli import main

if __name__ == "__main__":
    main()
