"""Copy the pages of the documentation into one folder, from which zensical builds the site.

`make docs` runs it: `python -m tools.stage_docs build/docs`. Pages in `docs/` link to files of the repository, which
code hosts can show; a site has only its own pages. So pages of other folders that belong to the site are copied next to
those of `docs/`, links to them are rewritten, and links to other files become plain text.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
HOME = "index.md"
OTHERS = {
    "README.md": HOME,  # a link to the README is one to the home page, which is docs/index.md
    "benchmarks/README.md": "benchmarks.md",
    "examples/README.md": "examples.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\[\]]*)\]\((?P<target>[^)\s]+)\)")
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


class BrokenLink(Exception):
    """A link to a file that does not exist."""


def place_of(page: Path) -> str | None:
    """Return the place of a page in the site, relative to its root; None for other files."""
    if page.is_relative_to(DOCS):
        return page.relative_to(DOCS).as_posix()
    return OTHERS.get(page.relative_to(ROOT).as_posix())


def rewritten(page: Path, place: str) -> str:
    """Return the text of `page` with the links that it has at `place` in the site.

    Raises:
        BrokenLink: A link leads to a file that does not exist.
    """

    def link(match: re.Match[str]) -> str:
        target, text = match["target"], match["text"]
        path, _, anchor = target.partition("#")
        if "://" in target or not path:
            return match[0]
        file = (page.parent / path).resolve()
        if not file.exists():
            raise BrokenLink(f"{page.relative_to(ROOT)}: {target} does not exist")
        there = place_of(file)
        anchor = anchor if file != ROOT / "README.md" else ""
        if there is None:
            return text
        relative = os.path.relpath(there, Path(place).parent) + ("#" + anchor if anchor else "")
        return f"{match['image']}[{text}]({relative})"

    parts = FENCE.split(page.read_text(encoding="utf-8"))
    return "".join(part if part.startswith("```") else LINK.sub(link, part) for part in parts)


def stage(folder: Path) -> None:
    """Fill `folder`, which is emptied first, with the pages and pictures of the site."""
    shutil.rmtree(folder, ignore_errors=True)
    others = [ROOT / name for name, place in OTHERS.items() if place != HOME]
    for file in [*sorted(DOCS.rglob("*")), *others]:
        place = place_of(file)
        if file.is_dir() or place is None:
            continue
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".md":
            target.write_text(rewritten(file, place), encoding="utf-8")
        else:
            shutil.copyfile(file, target)


if __name__ == "__main__":
    try:
        stage(Path(sys.argv[1]))
    except BrokenLink as error:
        sys.exit(f"error: {error}\nfix: correct the link")
