"""One hashdiff in reladiff's own environment, by a JSON argument; prints a JSON result."""

import json
import sys
import time

from reladiff import connect_to_table, diff_tables  # type: ignore[import-not-found]


def main() -> None:
    """Connect, compare, and count the keys that differ."""
    options = json.loads(sys.argv[1])
    threads = options.pop("threads", 1)
    url, table, copy, copy_url, key = (options.pop(name) for name in ("url", "table", "copy", "copy_url", "key"))
    columns = tuple(options.pop("columns"))
    began = time.perf_counter()
    # like its command: one connection for each side, and twice as many threads as connections
    named = ((copy_url, copy), (url, table))
    sides = [connect_to_table(one, name, key, thread_count=threads, extra_columns=columns) for one, name in named]
    with diff_tables(*sides, algorithm="hashdiff", max_threadpool_size=threads * 2, **options) as differences:
        found = {values[0] for _, values in differences}
    print(json.dumps({"seconds": time.perf_counter() - began, "changes": len(found)}))


if __name__ == "__main__":
    main()
