"""Measure the documentation: words, words per sentence, long sentences, passive voice.

`python -m tools.reading_level` prints a line for each page, and one each for all user and all developer docs; `--total`
prints only these last two. Code blocks, tables and headings have no sentences. Their words count, except those of code.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from typing_extensions import override

ROOT = Path(__file__).resolve().parents[1]
USER = (
    "README.md",
    "docs/index.md",
    "docs/tutorials/*.md",
    "docs/how-to/*.md",
    "docs/reference/**/*.md",
    "docs/explanation/*.md",
)
DEVELOPER = (
    "docs/paper.md",
    "docs/design/*.md",
    "docs/internals/*.md",
    "docs/extending/*.md",
    "CONTRIBUTING.md",
    "benchmarks/README.md",
    "examples/README.md",
)
LONG = 35  # words
_FENCE = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?:(?<=\n\n)|\A)(?:(?:    |\t).*(?:\n|\Z))+")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^)\s]+\)")
_WORD = re.compile(r"[^\W_][\w'’./:-]*")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+")
_END = re.compile(r"(?<=[.!?])[*_)\"']*\s+(?=[*_(\"'`]*[A-Z0-9`])")
_BE = r"(?:is|are|was|were|be|been|being|am)"
_IRREGULAR = (
    "begun|bound|broken|brought|built|chosen|done|drawn|driven|found|given|held|hidden|kept|known|laid|left|lost|made"
    "|meant|met|paid|put|read|rewritten|run|seen|sent|set|shown|split|taken|told|thrown|understood|written"
)
_PASSIVE = re.compile(
    rf"\b{_BE}\b(?:\s+(?:not|never|also|always|only|\w+ly))*\s+(?:\w+ed|{_IRREGULAR})\b", re.IGNORECASE
)


@dataclass(frozen=True)
class Level:
    """The measures of a text.

    Attributes:
        words: Number of words, without code.
        lengths: Number of words of each sentence.
        passive: Sentences in the passive voice, by a form of "be" before a participle.
        lines: Lines of the file.
    """

    words: int
    lengths: tuple[int, ...]
    passive: int
    lines: int

    @property
    def mean(self) -> float:
        """Mean words per sentence."""
        return sum(self.lengths) / max(1, len(self.lengths))

    @property
    def long(self) -> float:
        """The share of sentences above `LONG` words."""
        return sum(length > LONG for length in self.lengths) / max(1, len(self.lengths))

    @override
    def __str__(self) -> str:
        passive = self.passive / max(1, len(self.lengths))
        return f"{self.words:7,} {self.lines:6,} {self.mean:6.1f} {self.long:6.1%} {passive:8.1%}"


def pages(patterns: Iterable[str], root: Path = ROOT) -> list[Path]:
    """Return the files below `root` that match `patterns`, each once, in the order of patterns."""
    return list(dict.fromkeys(path for pattern in patterns for path in sorted(root.glob(pattern))))


def level_of(text: str) -> Level:
    """Measure a page in Markdown."""
    plain = _LINK.sub(r"\1", _COMMENT.sub("", _INDENTED.sub("", _FENCE.sub("", text))))
    words = sum(len(_WORD.findall(line)) for line in plain.splitlines())
    sentences = [found for block in _blocks(plain) for found in _END.split(block) if len(_WORD.findall(found)) > 1]
    passive = sum(_PASSIVE.search(sentence) is not None for sentence in sentences)
    return Level(words, tuple(len(_WORD.findall(s)) for s in sentences), passive, len(text.splitlines()))


def together(levels: Iterable[Level]) -> Level:
    """Return the measures of several texts as one; `lines` is that of the longest."""
    found = list(levels)
    lengths = tuple(length for one in found for length in one.lengths)
    longest = max((one.lines for one in found), default=0)
    return Level(sum(one.words for one in found), lengths, sum(one.passive for one in found), longest)


def _blocks(text: str) -> list[str]:
    """Return paragraphs and list items, without headings and tables."""
    blocks, block = [], ""
    for line in [*text.splitlines(), ""]:
        item = _ITEM.match(line)
        if not line.strip() or item or line.lstrip().startswith(("#", "|")):
            blocks.append(block)
            block = ""
        if line.strip() and not line.lstrip().startswith(("#", "|")):
            block += " " + (line[item.end() :] if item else line.strip())
    return [block.strip() for block in blocks if block.strip()]


def main(arguments: list[str]) -> None:
    """Print the report."""
    print(f"{'words':>7} {'lines':>6} {'w/sent':>6} {'>' + str(LONG):>6} {'passive':>8}")
    for name, patterns in (("user docs", USER), ("developer docs", DEVELOPER)):
        levels = {page: level_of(page.read_text(encoding="utf-8")) for page in pages(patterns)}
        for page, level in {} if "--total" in arguments else levels.items():
            print(f"{level}  {page.relative_to(ROOT)}")
        print(f"{together(levels.values())}  all {name}; lines are those of the longest page")


if __name__ == "__main__":
    main(sys.argv[1:])
