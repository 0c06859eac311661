"""Write the table of the campaign's results into tests/campaign/README.md, from the files that the runs wrote.

`make campaign-report` does it for the results of one commit. Results of several commits, or of a tree with changes, are
refused, except with `--each-commit`, since each line names its commit; `--commit` chooses one. Failed and skipped cases
are listed on standard output, and parts that are missing. Exit code 1: a part is missing, incomplete or failed.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.campaign.parts import PARTS, engines_of
from tests.campaign.results import CHANGES, ROOT, Results, folder, read

PAGE = ROOT / "tests/campaign/README.md"
BEGIN, END = "<!-- campaign-report -->\n", "<!-- end of campaign-report -->\n"
COLUMNS = ("part", "engine", "cases", "passed", "failed", "skipped", "not run", "minutes", "commit")
HEAD = f"| {' | '.join(COLUMNS)} |\n|---|---|--:|--:|--:|--:|--:|--:|---|\n"


class NotOneCommit(Exception):
    """The results are not of one commit, and the caller did not ask for that."""


def table(found: Iterable[Results], *, each_commit: bool = False) -> str:
    """Return the table: a line for each part and engine, also for those without a result.

    Of several commits each line names its own, and a part has a line for each.

    Raises:
        NotOneCommit: There are results of several commits or of changed files, and `each_commit` is not set.
    """
    rows = sorted(found, key=lambda r: (list(PARTS).index(r.line.part), r.line.servers, r.line.engine))
    commits = sorted({r.commit for r in rows})
    if len(commits) > 1 and not each_commit:
        raise NotOneCommit(
            f"the results are of {len(commits)} commits: {', '.join(commits)}. fix: choose one with --commit, "
            "or show the commit of each line with --each-commit"
        )
    if (changed := [c for c in commits if c.endswith(CHANGES)]) and not each_commit:
        raise NotOneCommit(
            f"files differed from the commit when results of {changed[0]} were written. fix: commit, and run the "
            "parts again; or show the lines as they are with --each-commit"
        )
    lines = [_line(r) for r in rows]
    there = {(r.line.part, r.line.engine) for r in rows if not r.line.servers}
    lines += [
        f"| `{part}` | {engine} | **missing** | | | | | | |"
        for part in PARTS
        for engine in engines_of(part)
        if (part, engine) not in there
    ]
    return HEAD + "".join(f"{line}\n" for line in lines)


def lacks(found: Iterable[Results]) -> list[str]:
    """Return why the results are not those of a whole campaign without a failure, a line each."""
    rows = list(found)
    there = {(r.line.part, r.line.engine) for r in rows if not r.line.servers}
    missing = [f"{p} {e}: missing" for p in PARTS for e in engines_of(p) if (p, e) not in there]
    failed = [f"{r.line.part} {r.line.engine}: {r.number('failed')} failed" for r in rows if r.number("failed")]
    partial = [f"{r.line.part} {r.line.engine}: not all cases have run" for r in rows if r.not_run != 0]
    return missing + failed + partial


def put(text: str, page: str) -> str:
    """Return the page with the table between its two marks."""
    before, _, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"{PAGE.name} lacks the marks of the table")
    return before + BEGIN + text + END + after


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the table; print what is missing, failed and skipped."""
    parser = argparse.ArgumentParser(prog="python -m tools.campaign_report", description=__doc__)
    parser.add_argument("--results", type=Path, default=folder(), help="the folder of the runs' files")
    parser.add_argument("--commit", help="use the results of this commit only")
    parser.add_argument("--each-commit", action="store_true", help="take results of several commits")
    parser.add_argument("--print", action="store_true", help="print the table; do not change the page")
    options = parser.parse_args(arguments)
    found = read(options.results.glob("*.jsonl"))
    if options.commit:
        found = [r for r in found if r.commit == options.commit]
    try:
        text = table(found, each_commit=options.each_commit)
    except NotOneCommit as error:
        print(error, file=sys.stderr)
        return 1
    if options.print:
        print(text)
    else:
        PAGE.write_text(put(text, PAGE.read_text("utf-8")), "utf-8")
    for r in found:
        for case in (c for c, o in r.outcomes.items() if o == "failed"):
            print(f"failed: {case}")
        for reason, number in Counter(r.reasons[c] for c, o in r.outcomes.items() if o == "skipped").items():
            print(f"{r.line.part} {r.line.engine}: {number} skipped: {reason}")
    print(*lacks(found), sep="\n")
    return 1 if lacks(found) else 0


def _line(r: Results) -> str:
    not_run = "not known" if r.not_run is None else str(r.not_run)
    minutes = f"{sum(r.seconds.values()) / 60:.1f}"
    engine = f"{r.line.engine}, {r.line.servers}" if r.line.servers else r.line.engine
    numbers = (len(r.outcomes), r.number("passed"), r.number("failed"), r.number("skipped"))
    return (
        f"| `{r.line.part}` | {engine} | " + " | ".join([*map(str, numbers), not_run, minutes, f"`{r.commit}`"]) + " |"
    )


if __name__ == "__main__":
    sys.exit(main())
