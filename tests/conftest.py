"""Fixtures of all tests: servers and Spark once per run, a new database per test.

Servers and `spark` start only when a test requests them, so unit tests need none of them. Tests of a database whose
server is missing are skipped; the last lines of the run say how many and why.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.register_assert_rewrite("tests.support")

from tests.support import temporary  # noqa: E402 -- before anything makes a temporary file

temporary.use_memory(os.environ)

from qbcd.demo.server import EmbeddedPostgres  # noqa: E402 -- the rewriting is registered before the first import
from qbcd.errors import EnvironmentMissing  # noqa: E402
from qbcd.spark.drivers import find_driver, user_cache  # noqa: E402
from tests.campaign import results  # noqa: E402
from tests.campaign.kept import is_kept  # noqa: E402
from tests.campaign.parts import PARTS, part_of  # noqa: E402
from tests.support.debian_server import DebianPostgres  # noqa: E402
from tests.support.maria_server import MariaServer, find_programs  # noqa: E402
from tests.support.mysql_server import MySQLServer, find_mysql  # noqa: E402
from tests.support.places import FIRST, Place, new_place, place_of, server_of  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# pytest-xdist passes the width of the terminal to its processes, and our tables would be fitted to it.
os.environ.pop("COLUMNS", None)

# A shell ignores interrupts in what it starts in the background, and so would the processes that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Java processes that a test starts end before the second compiler pays off.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1")

MYSQL_VARIABLE, ICU_VARIABLE = "QBCD_TEST_MYSQL_URL", "QBCD_TEST_ICU_URL"
POSTGRESQL_VARIABLE = "QBCD_TEST_POSTGRESQL_BIN"
NO_SERVER = "no {} server: "  # start of the skip reasons that the summary counts


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--part", choices=sorted(PARTS), help="the part of the campaign to run (tests/campaign/parts.py)")
    parser.addoption("--remaining", action="store_true", help="only cases of the part that have no result yet")


def pytest_configure(config: pytest.Config) -> None:
    """Let a run of a part write the file of its results."""
    if part := config.getoption("--part"):
        results.register(config, part)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Move cases that `tests.campaign.kept` does not keep to the campaign, and choose its part."""
    for item in items:
        if not is_kept(item.nodeid):
            item.add_marker("campaign")
    part = config.getoption("--part")
    if part is not None:
        in_part = [item for item in items if part_of(item.nodeid) == part]
        selected = results.chosen(config, part, in_part)
        config.hook.pytest_deselected(items=[item for item in items if item not in selected])
        items[:] = selected


@pytest.fixture(autouse=True)
def _no_dump_of_stacks(request: pytest.FixtureRequest) -> None:
    """Cancel the dump of all stacks for cases of the campaign: of a long one it shows nothing, and it can crash."""
    if request.node.get_closest_marker("campaign"):
        faulthandler.cancel_dump_traceback_later()


@pytest.fixture(scope="session", autouse=True)
def _cache_without_archive() -> Iterator[None]:
    made = temporary.use_cache_without_archive(os.environ, user_cache())
    yield
    temporary.remove(made)


@dataclass(frozen=True)
class GivenServer:
    """A server that the environment names and the run did not start.

    `url` is that of a user with all rights.
    """

    url: str


@pytest.fixture(scope="session")
def server() -> Iterator[EmbeddedPostgres]:
    """The run's PostgreSQL: 100 connections, prepared transactions, no fsync, no autovacuum.

    It is the embedded one, or that whose programs are in the folder of `QBCD_TEST_POSTGRESQL_BIN`.
    """
    settings = {"max_connections": 100, "max_prepared_transactions": 10, "fsync": False, "autovacuum": False}
    small = {"max_wal_size": "192MB"}  # the folder may be in memory
    named = os.environ.get(POSTGRESQL_VARIABLE)
    kind, programs = (DebianPostgres, Path(named)) if named else (EmbeddedPostgres, None)
    with kind.start(settings={**settings, **small}, programs=programs) as running:
        yield running


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaServer]:
    """The run's MariaDB; skip the test if none is installed."""
    try:
        running = MariaServer.start()
    except EnvironmentMissing as error:
        pytest.skip(NO_SERVER.format("MariaDB") + str(error))
    with running:
        yield running


@pytest.fixture(scope="session")
def mysql() -> Iterator[MySQLServer | GivenServer]:
    """The run's MySQL, or the server of `QBCD_TEST_MYSQL_URL`; skip the test if there is neither."""
    if url := os.environ.get(MYSQL_VARIABLE):
        yield GivenServer(url)
        return
    try:
        running = MySQLServer.start()
    except EnvironmentMissing as error:
        pytest.skip(NO_SERVER.format("MySQL") + f"{error}, or set {MYSQL_VARIABLE} to mysql://USER:PASSWORD@HOST:PORT/")
    with running:
        yield running


@pytest.fixture(scope="session")
def icu(request: pytest.FixtureRequest) -> GivenServer:
    """A PostgreSQL with ICU: that of `QBCD_TEST_ICU_URL`, or Debian's; skip without one.

    The embedded server has no ICU.
    """
    url = os.environ.get(ICU_VARIABLE)
    return GivenServer(url or request.getfixturevalue("debian").url)


@pytest.fixture(scope="session")
def debian() -> Iterator[EmbeddedPostgres]:
    """The run's PostgreSQL of Debian's package; skip the test if none is installed."""
    try:
        running = DebianPostgres.installed({"max_connections": 60, "fsync": False, "autovacuum": False})
    except EnvironmentMissing as error:
        pytest.skip(NO_SERVER.format("ICU") + f"{error}, or {ICU_VARIABLE} names another PostgreSQL that has ICU")
    with running:
        yield running


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Generator[None, None, None]:
    """Print at the very end, for each missing server, how many tests were skipped."""
    yield
    beginnings = tuple(NO_SERVER.format(product) for product in ("MariaDB", "MySQL", "ICU"))
    skips = [report.longrepr for report in terminalreporter.stats.get("skipped", [])]
    reasons = [skip[2].removeprefix("Skipped: ") for skip in skips if isinstance(skip, tuple)]
    for reason, number in Counter(r for r in reasons if r.startswith(beginnings)).items():
        terminalreporter.write_line(f"{number} {'test' if number == 1 else 'tests'} skipped: {reason}", yellow=True)


@pytest.fixture
def database(request: pytest.FixtureRequest) -> Iterator[str]:
    """URL of a new, empty database, dropped after the test even if sessions are still connected.

    It is PostgreSQL unless `tests.support.places.over` names another database.
    """
    kind = getattr(request, "param", FIRST)
    with new_place(server_of(request, kind), kind) as place:
        yield place.url


@pytest.fixture
def place(database: str) -> Place:
    """The same database as a :class:`Place`, with helpers in its own SQL."""
    return place_of(database)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The run's Spark session: two local cores, the drivers of all databases of the run.

    qbcd adopts a session that it finds in its process, so every project of the run shares this one.
    """
    from qbcd.config.models import SparkConfig
    from qbcd.spark.session import create_session

    conf = {
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.local.dir": str(tmp_path_factory.mktemp("spark")),
        # Jobs of a few rows end before the second compiler pays off. Without it Java keeps 48 MiB for compiled code.
        # Some twenty tests fill them; then Java drops half of the code and compiles it again, and so on for the whole
        # run.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m",
    }
    session = create_session(SparkConfig(master="local[2]", conf=conf), driver_jars())
    session.sparkContext.pythonExec = sys.executable  # not the python3 of the PATH, which may be another version
    yield session
    session.stop()


def driver_jars() -> list[Path]:
    """Return the JDBC driver jars of all connectors for which the run may have a server.

    A missing driver other than PostgreSQL's is skipped here; the tests that need it fail with its message.
    """
    from qbcd.connectors import CONNECTORS

    jars = []
    for driver, name in {c.driver: name for name, c in CONNECTORS.items() if may_have(name)}.items():
        try:
            jars.append(find_driver(driver, configured=None, cache=user_cache()).jar)
        except EnvironmentMissing:
            if name == FIRST:
                raise
    return jars


def may_have(name: str) -> bool:
    """Return True if this test run can have a server of the connector `name`."""
    if name == FIRST or os.environ.get(f"QBCD_TEST_{name.upper()}_URL"):
        return True
    find = {"mariadb": find_programs, "mysql": find_mysql}.get(name)
    try:
        return find is not None and bool(find())
    except EnvironmentMissing:
        return False


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """An empty folder for a project: its qbcd.yaml, state, workdir and sinks."""
    made = tmp_path / "project"
    made.mkdir()
    return made
