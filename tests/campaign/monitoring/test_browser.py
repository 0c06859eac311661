"""The report in Chromium, if one is installed: no request, no console error, hostile texts are only text.

``QBCD_TEST_CHROMIUM`` names the program if it is not on the path. Debian has it in ``chromium-headless-shell``.
"""

from __future__ import annotations

import html.parser
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from tests.unit.monitoring.test_report import HOSTILE, facts, made

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
HARMLESS = re.compile("vaapi|sandbox|dbus|gpu|gl|font", re.IGNORECASE)  # of the machine, not of the page


@pytest.fixture
def chromium() -> str:
    found = os.environ.get("QBCD_TEST_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("no Chromium: install chromium-headless-shell, or name a program in QBCD_TEST_CHROMIUM")
    return found


class Attributes(html.parser.HTMLParser):
    """A reader that collects the names of all attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names |= {name for name, _ in attrs}


@contextmanager
def served(page: str) -> Iterator[tuple[str, list[str]]]:
    """Serve a page; yield its URL, and the paths that a browser requests."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(page.encode())

        @override
        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/report.html", asked
    finally:
        server.shutdown()
        server.server_close()


def browse(chromium: str, url: str, folder: Path, *options: str) -> tuple[str, str]:
    """Return the page's elements after its script, and what the browser logged."""
    options = (
        "--no-sandbox",
        "--disable-gpu",
        "--enable-logging=stderr",
        f"--user-data-dir={folder / 'profile'}",
        *options,
    )
    done = subprocess.run(
        [chromium, *options, "--dump-dom", url], capture_output=True, text=True, timeout=300, check=True
    )
    return done.stdout, done.stderr


@pytest.mark.campaign
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_hostile_texts_run_nothing_and_request_nothing(chromium: str, scheme: str, tmp_path: Path) -> None:
    page = made(*(facts(text.replace("\x00", ""), text, ranges=5) for text in HOSTILE))
    dark = ["--blink-settings=preferredColorScheme=0"] if scheme == "dark" else []
    with served(page) as (url, asked):
        dom, log = browse(chromium, url, tmp_path, f"--log-net-log={tmp_path / 'net.json'}", *dark)
    assert asked == ["/report.html"]
    hosts = set(re.findall(r'"url":"(?:https?|wss?)://([^/":]+)', (tmp_path / "net.json").read_text(errors="replace")))
    assert not any("evil" in host for host in hosts), hosts
    assert [line for line in log.splitlines() if "CONSOLE" in line] == []
    assert re.search(r'<p id="tools">', dom), "the page's own script has not run"
    assert dom.count("<script") == 1
    seen = Attributes()
    seen.feed(dom)
    assert not any(name.startswith("on") or name == "src" for name in seen.names)
    assert {"class", "data-stream"} <= seen.names


@pytest.mark.campaign
def test_a_script_that_is_not_the_pages_own_is_stopped(chromium: str, tmp_path: Path) -> None:
    page = made(facts("a", "x")).replace("</body>", "<script>document.title = 'taken'</script></body>")
    with served(page) as (url, _):
        dom, log = browse(chromium, url, tmp_path)
    assert "<title>taken" not in dom
    assert "Content Security Policy" in log  # or the test above could not see a console error
