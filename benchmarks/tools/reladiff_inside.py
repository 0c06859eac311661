"""Runs inside reladiff's own environment: one hashdiff as told by the argument; prints seconds and rows found."""

import json
import sys
import time

from reladiff import connect_to_table, diff_tables  # type: ignore[import-not-found]


def main() -> None:
    """Connects, compares, and counts the keys that differ."""
    asked = json.loads(sys.argv[1])
    threads = asked.pop("threads", 1)
    url, table, copy, key = (asked.pop(name) for name in ("url", "table", "copy", "key"))
    columns = tuple(asked.pop("columns"))
    began = time.perf_counter()
    # as its command does it: a connection for each side, and twice as many threads as connections
    sides = [connect_to_table(url, name, key, thread_count=threads, extra_columns=columns) for name in (copy, table)]
    with diff_tables(*sides, algorithm="hashdiff", max_threadpool_size=threads * 2, **asked) as differences:
        found = {values[0] for _, values in differences}
    print(json.dumps({"seconds": time.perf_counter() - began, "changes": len(found)}))


if __name__ == "__main__":
    main()
