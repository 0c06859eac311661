"""The report: one well-formed page without requests, with hostile texts, and the facts of `status --json`."""

from __future__ import annotations

import base64
import hashlib
import html.parser
import json
import os
import re
from datetime import timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typing_extensions import override

from qbcd.common.durable import replace_text
from qbcd.model import BatchHeader
from qbcd.monitoring.report import StreamFacts, charts, page
from qbcd.monitoring.report.facts import ShownRange
from qbcd.state import DeliveryFailure, Run, Visits
from qbcd.status import StreamStatus, Watermark, status_data

NOW = 1_795_770_000.0
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</pre></section><a href='https://evil.example'>x</a>",
    "{{ 7 * 7 }} {% include '/etc/passwd' %} ${env:HOME}",
    "a\x00b\x1b[31mc\ud800d\x85\u202e&amp;&lt;]]>",
)


def facts(name: str, text: str, outcome: Any = "failed", polls: int = 3, ranges: int = 0) -> StreamFacts:
    """Return a stream with a hostile text in every place that may have one."""
    runs = [
        Run(
            name,
            NOW - 60 * n - 1,
            NOW - 60 * n,
            outcome,
            counts={"u": n, "d": 1},
            cost={"rows_scanned": 10 * n, "rows_shipped": n},
        )
        for n in range(polls, 0, -1)
    ]
    header = BatchHeader(
        name, 1795706452, 17, 0, {"c": 1}, (), "f", text, text, "mds", "statement", (text,), columns=()
    )
    status = StreamStatus(
        name,
        "id_rcs",
        timedelta(seconds=30),
        prepared=True,
        epoch=1795706452,
        last_poll=runs[-1] if runs else None,
        lag=90.0,
        watermark=Watermark(text, None),
        visits=Visits(ranges, 1, NOW) if ranges else None,
        last_batch=header,
        events={"u": 6, "d": 3},
        pending={text: 2},
        failures={text: DeliveryFailure(NOW, text, 4)},
        error=text,
    )
    seen = [ShownRange(100, None if n == 0 else 10.0**n, 0.5 * (n == 1)) for n in range(ranges)]
    return StreamFacts(status, text, runs, 1000, seen)


class Strict(html.parser.HTMLParser):
    """A reader of a page that accepts only closed elements, and notes what a browser would request or run."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self._add(tag, attrs)

    @override
    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._add(tag, attrs)

    def _add(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), "an attribute is given twice"
        self.elements.append((tag, dict(attrs)))

    @override
    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    @override
    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)


def read(text: str) -> Strict:
    """Return a page that was read by strict readers of HTML and of XML."""
    text.encode()
    ElementTree.fromstring(text)
    found = Strict()
    found.feed(text)
    found.close()
    assert found.open == []
    return found


def made(*found: StreamFacts) -> str:
    return page([(one, status_data(one.status)) for one in found], "<b>qbcd.yaml", NOW)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_are_only_text(text: str) -> None:
    plain, hostile = read(made(facts("a", "x", ranges=3))), read(made(facts(text, text, ranges=3)))
    assert [tag for tag, _ in hostile.elements] == [tag for tag, _ in plain.elements]
    for tag, attributes in hostile.elements:
        assert not any(name.startswith("on") or name in ("src", "style", "action", "srcset") for name in attributes)
        link = attributes.get("href") or "#"
        assert link.startswith("#") or (tag, link) == ("link", "data:,")
    assert hostile.texts["script"] == plain.texts["script"]
    if "\x00" not in text:
        assert text in " ".join(hostile.texts["p"])
        assert text in hostile.texts["a"]
    assert "\x1b" not in " ".join(text for texts in hostile.texts.values() for text in texts)


def test_a_browser_runs_only_what_the_page_allows() -> None:
    found = read(made(facts("a", "x")))
    [policy] = [one["content"] for tag, one in found.elements if one.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    for kind in ("style", "script"):
        [text] = found.texts[kind]
        assert f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" in policy
        assert not re.search(r"https?:|url\(|import|fetch|XMLHttp|eval", text)


def test_the_text_is_that_of_status() -> None:
    one, other = facts("orders", "sink x: full"), StreamFacts(StreamStatus("new", "mds", timedelta(seconds=30)), "shop")
    found = read(made(one, other))
    printed = [json.loads(text) for text in found.texts["pre"]]
    assert printed == [json.loads(json.dumps(status_data(f.status))) for f in (one, other)]
    cells = [" ".join(text.split()) for text in found.texts["td"] if text.strip()]
    assert cells[:8] == [
        "failed",
        "id_rcs",
        "2026-11-27 08:59:00Z",
        "1795706452/17",
        "1 min",
        "2",
        "10 / 1,000",
        "6 updates, 3 deletes",
    ]
    assert cells[8:15] == ["not prepared", "mds", "-", "-", "-", "0", "-"]
    assert found.texts["a"] == ["orders", "new"]
    assert "2 streams, 1 failed, 1 not prepared" in " ".join(found.texts["p"])


@pytest.mark.parametrize("polls", [0, 1, 2, 1000])
def test_charts_show_all_polls_and_events(polls: int) -> None:
    one = facts("a", "x", polls=polls)
    parts = charts.slots(one.runs)
    assert len(parts) == (charts.SLOTS if polls else 0)
    assert [run for part in parts for run in part.runs] == list(one.runs)
    drawn = "".join(map(str, (charts.polls(parts), charts.events(parts), charts.cost(parts, 1000))))
    assert "nan" not in drawn
    assert not re.search(r'(?:height|width|x|y)="-', drawn)
    assert sum(int(n.replace(",", "")) for n in re.findall(r"([\d,]+) of op u", drawn)) == polls * (polls + 1) // 2


@pytest.mark.parametrize(("number", "cells"), [(1, 1), (400, 400), (401, 201), (20_000, 400)])
def test_the_map_has_a_cell_for_every_range(number: int, cells: int) -> None:
    drawn = str(charts.ranges([ShownRange(2, 30.0 if n else None, float(n == number - 1)) for n in range(number)]))
    assert drawn.count("<rect") == cells
    assert (drawn.count("age-5"), drawn.count("hot")) == (1, 1)
    assert sum(int(n.replace(",", "")) for n in re.findall(r": ([\d,]+) rows", drawn)) == 2 * number


def test_the_file_is_replaced_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "report.html"
    replace_text(file, "old")

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="No space"):
            replace_text(file, "new")
    assert (file.read_text(), list(tmp_path.iterdir())) == ("old", [file])
    replace_text(file, "new")
    assert (file.read_text(), list(tmp_path.iterdir())) == ("new", [file])


@pytest.mark.campaign
def test_a_thousand_streams_fit_into_a_page() -> None:
    found = [facts(f"s{n}", "x", "failed" if n % 20 == 7 else "ok", polls=50, ranges=100) for n in range(1000)]
    text = made(*found)
    assert len(read(text).texts["pre"]) == 1000
    assert len(text) < 12_000_000
    assert text.count("Charts are drawn for 100 streams") == 900
    assert "qbcd report s7<" not in text  # one with trouble is drawn
