"""The page of a report, with escaped texts and a policy that lets a browser request nothing."""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from qbcd.common.wording import batch_number
from qbcd.monitoring.report import charts, words
from qbcd.monitoring.report.facts import StreamFacts
from qbcd.version import __version__

MOST_DRAWN = 100  # streams with charts, those with trouble first; a browser is slow with more


@dataclass(frozen=True)
class Shown:
    """One stream as the template shows it.

    Attributes:
        data: What ``qbcd status --json`` prints of it.
        json: The same as text.
        drawn: Its charts are on the page.
    """

    facts: StreamFacts
    data: dict[str, Any]
    json: str
    drawn: bool = True

    @property
    def state(self) -> str:
        """The state, with blanks as it is printed."""
        return str(self.data["state"])

    @property
    def kind(self) -> str:
        """The state as a class of the style."""
        return self.state.replace(" ", "-")

    @property
    def last_batch(self) -> str:
        """The number of the last batch, or ``-``."""
        batch = self.data["last_batch"]
        return batch_number(batch["epoch"], batch["batch_seq"]) if batch else "-"

    @property
    def waiting(self) -> int:
        """Batches that the slowest sink lacks."""
        return max(self.data["pending"].values(), default=0)

    @property
    def slots(self) -> list[charts.Slot]:
        """The polls by time."""
        return charts.slots(self.facts.runs)

    @property
    def share(self) -> str:
        """Rows that the last poll scanned, and rows of the table: ``100 / 5,000``."""
        poll, rows = self.data["last_poll"], self.facts.rows
        if not poll or "rows_scanned" not in poll["cost"]:
            return "-"
        scanned = poll["cost"]["rows_scanned"]
        return f"{scanned:,} / {rows:,}" if rows else f"{scanned:,}"


def page(found: Sequence[tuple[StreamFacts, dict[str, Any]]], project: str, now: float) -> str:
    """Return the page.

    Args:
        found: The streams in order, each with its data as ``qbcd status --json`` prints it.
        project: Name of the configuration file.
        now: Seconds since 1970 UTC.
    """
    places = sorted(range(len(found)), key=lambda n: found[n][1]["state"] == "ok")
    drawn = set(places[:MOST_DRAWN])
    shown = [
        Shown(facts, data, json.dumps(data, indent=2, ensure_ascii=False, default=str), n in drawn)
        for n, (facts, data) in enumerate(found)
    ]
    made = _environment()
    style, script = (made.get_template(name).render() for name in ("style.css.j2", "script.js.j2"))
    states = Counter(one.state for one in shown)
    return made.get_template("page.html.j2").render(
        streams=shown,
        states=sorted(states.items(), key=lambda item: -item[1]),
        project=project,
        version=__version__,
        now=now,
        style=Markup(style),
        script=Markup(script),
        policy=f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; img-src data:",
        most_drawn=MOST_DRAWN,
        charts=charts,
        words=words,
    )


def _hash(text: str) -> str:
    """Return the source expression of inline text in a content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _environment() -> Environment:
    """Return the environment: text is escaped, and cleaned of characters that no page may have."""
    return Environment(
        loader=PackageLoader("qbcd.monitoring.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: words.clean(value) if type(value) is str else value,
    )
