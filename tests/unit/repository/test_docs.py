"""The documentation holds together: links lead somewhere, and what it shows and lists is what the code has."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from typer.main import get_command

from qbcd.catalog.resolve import RESERVED
from qbcd.cli.commands import application
from qbcd.common.hooks import POINTS
from qbcd.config import GuardsConfig, JdbcConfig, ProjectConfig, SourceConfig, SparkConfig, TableConfig
from qbcd.config.fields import Section
from qbcd.config.notify import NotifyConfig
from qbcd.config.openlineage import OpenLineageConfig
from qbcd.config.sink_registry import BUILT_SINKS
from qbcd.config.strategy_registry import BUILT_STRATEGIES, options_class
from qbcd.connectors import Connector, MariaDB, MySQL, PostgreSQL
from qbcd.state.database import META
from qbcd.state.project_tables import METADATA
from qbcd.state.tables import SiteTables
from tools.reading_level import DEVELOPER, USER, level_of, pages, together
from tools.stage_docs import OTHERS

ROOT = Path(__file__).resolve().parents[3]
PAGES = [*ROOT.glob("docs/**/*.md"), ROOT / "examples/README.md", ROOT / "benchmarks/README.md", *ROOT.glob("*.md")]
DESIGN = [*ROOT.glob("docs/design/*.md"), ROOT / "docs/paper.md"]
FOLDERS = ("qbcd", "tests", "benchmarks", "examples", "docker", "tools")
KINDS = {".py", ".md", ".j2", ".sql", ".yaml", ".toml"}
LINK = re.compile(r"\]\(([^)\s]+)\)")
# A citation in code or text: a path from the root, perhaps with anchors: `<page>.md#rule-1, #rule-2 to #rule-4`.
ANCHORS = r"(?:#[\w-]+(?:(?:,|;| and| to| or) #[\w-]+)*)?"
CITED = re.compile(rf"(?<![\w./-])((?:docs|benchmarks|examples)/[\w./-]+\.md)({ANCHORS})")
# What citations looked like when these pages were outside the repository: without a path, or without a page.
BARE = re.compile(r"(?<![\w./-])(?<!\]\()(?:protocol|architecture|interface|algorithms|pitfalls|glossary)\.md")
OLD = re.compile(
    r"\b(?:protocol|architecture) (?:rule )?\d|\b(?:errors?|references?) C\d|\(C\d+\b|\b[Pp]itfalls? [A-Z]\d"
)
RULE = re.compile(r"\b[Rr]ules? (\d+(?:(?:,| and| to) \d+)*)")
PROTOCOL = "docs/design/protocol.md"


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def anchors(page: Path) -> set[str]:
    """The names by which a page's headings can be linked to, as code hosts make them."""
    found, code = set(), False
    for line in page.read_text(encoding="utf-8").splitlines():
        code ^= line.lstrip().startswith("```")
        if line.startswith("#") and not code:
            found.add(re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower()).replace(" ", "-"))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), target


def citing() -> list[tuple[Path, str]]:
    """Every file that may cite a page, and its text without the line breaks of docstrings and comments."""
    found = {*PAGES, *(path for folder in FOLDERS for path in ROOT.glob(f"{folder}/**/*") if path.suffix in KINDS)}
    return [(path, re.sub(r"\s*\n\s*(?:#\s+)?", " ", path.read_text(encoding="utf-8"))) for path in sorted(found)]


def test_cited_pages_exist_with_their_anchors() -> None:
    missing, known = [], {page: anchors(ROOT / page) for page in (str(p.relative_to(ROOT)) for p in PAGES)}
    for path, text in citing():
        for page, cited in CITED.findall(text):
            lacking = {anchor for anchor in re.findall(r"#([\w-]+)", cited) if anchor not in known.get(page, ())}
            if lacking or page not in known:
                missing.append(f"{path.relative_to(ROOT)}: {page} {', '.join(sorted(lacking))}")
    assert not missing


def test_no_page_is_cited_without_its_path() -> None:
    found = [f"{path.relative_to(ROOT)}: {m.group()}" for path, text in citing() for m in BARE.finditer(text)]
    found += [f"{path.relative_to(ROOT)}: {m.group()}" for path, text in citing() for m in OLD.finditer(text)]
    assert not found


def test_rules_cited_by_number_exist() -> None:
    wrong, known = [], anchors(ROOT / PROTOCOL)
    for path, text in citing():
        if path.suffix != ".py":
            continue
        numbers = {number for m in RULE.finditer(text) for number in re.findall(r"\d+", m.group(1))}
        if numbers and (PROTOCOL not in text or not {f"rule-{number}" for number in numbers} <= known):
            wrong.append(f"{path.relative_to(ROOT)}: {', '.join(sorted(numbers))}")
    assert not wrong


def test_the_protocol_has_26_rules() -> None:
    assert {f"rule-{number}" for number in range(1, 27)} <= anchors(ROOT / PROTOCOL)
    assert {f"c{number}" for number in range(1, 33)} <= anchors(ROOT / "docs/paper.md")


@pytest.mark.parametrize("page", DESIGN, ids=lambda page: str(page.relative_to(ROOT)))
def test_design_pages_link_to_nothing_outside(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert "://" not in target
        assert (page.parent / target.partition("#")[0]).resolve().is_relative_to(ROOT), target


def test_the_glossary_lists_what_is_persisted() -> None:
    page = text_of("docs/design/glossary.md").partition("## Persisted words")[2]
    tables = {table.name for metadata in (SiteTables("qbcd").metadata, METADATA) for table in metadata.tables.values()}
    assert all(f"`{name}`" in page for name in {*POINTS, *tables, META.name})


def test_every_page_is_listed_and_in_the_site() -> None:
    listed = set()
    for index in (ROOT / "docs/index.md", ROOT / "docs/internals/README.md"):
        listed |= {(index.parent / link.partition("#")[0]).resolve() for link in LINK.findall(index.read_text())}
    pages = set(ROOT.glob("docs/**/*.md"))
    assert pages - {ROOT / "docs/index.md"} <= listed
    site = re.findall(r'"([\w/-]+\.md)"', text_of("zensical.toml"))
    assert sorted(site) == sorted({*(page.relative_to(ROOT / "docs").as_posix() for page in pages), *OTHERS.values()})


@pytest.mark.parametrize("page", ["README.md", "docs/tutorials/quickstart.md"])
def test_pages_show_the_example_as_it_is(page: str) -> None:
    comment, config = text_of("examples/first-stream/qbcd.yaml").split("\n", 1)
    assert comment.startswith("#")
    assert f"```yaml\n{config.strip()}\n```" in text_of(page)


def test_the_page_of_destinations_shows_what_was_tried() -> None:
    comment, statements = text_of("examples/destinations/postgresql/apply.sql").split("\n", 1)
    assert comment.startswith("--")
    assert f"```sql\n{statements.strip()}\n```" in text_of("docs/how-to/load-into-a-destination.md")


@pytest.mark.parametrize(
    "section",
    [ProjectConfig, SparkConfig, SourceConfig, JdbcConfig, TableConfig, GuardsConfig, NotifyConfig, OpenLineageConfig],
    ids=lambda s: s.__name__,
)
def test_every_key_is_explained(section: type[Section]) -> None:
    listed = re.findall(r"^\| (.+?) \|", text_of("docs/reference/configuration.md"), re.MULTILINE)
    words = set(re.findall(r"\w+", " ".join(listed)))
    assert set(section.keys()) - {"tables"} <= words  # which is a list of its own


def test_names_that_no_column_may_have_are_listed() -> None:
    page, names = text_of("docs/reference/types.md"), RESERVED.pattern.partition("(")[2].rstrip(")").split("|")
    assert len(names) > 10
    for name in names:
        spelled = {r"k?\d+": ("qbcd_<number>", "qbcd_k<number>")}.get(name, (f"qbcd_{name}",))
        assert all(f"`{one}`" in page for one in spelled), name


def test_strategies_and_sinks_are_told_apart_from_plans() -> None:
    assert set(BUILT_STRATEGIES) == {p.stem for p in ROOT.glob("docs/reference/strategies/*.md")}
    assert set(BUILT_SINKS) <= anchors(ROOT / "docs/reference/sinks.md")


@pytest.mark.parametrize("name", BUILT_STRATEGIES)
def test_every_option_is_on_the_page_of_its_strategy(name: str) -> None:
    options, text = options_class(name), text_of(f"docs/reference/strategies/{name}.md")
    text += text_of("docs/reference/strategies/tdi.md") if name == "atdi" else ""  # which links to that table
    assert all(f"`{option}" in text for option in options.model_fields if option != "type")
    assert all(f"`{option}`†" in text for option in options.meaning)  # fixed at prepare


def test_every_command_and_option_is_explained() -> None:
    page = text_of("docs/reference/command-line.md") + text_of("docs/reference/more-commands.md")
    group = get_command(application(["--help"]))
    commands = getattr(group, "commands")  # noqa: B009 -- a group of Click's, which has no types of its own here
    assert commands
    common, own = {opt for param in group.params for opt in param.opts}, r"^#+ qbcd {}\n(.*?)(?=^#+ |\Z)"
    assert all(f"`{opt}" in page for opt in common)
    for name, command in commands.items():
        assert f"`qbcd {name}`" in page, name
        (section,) = re.findall(own.format(name), page, re.MULTILINE | re.DOTALL) or [page]
        for param in command.params:
            named = [param.metavar] if param.param_type_name == "argument" else set(param.opts) - common
            assert all(re.search(rf"(?<![\w-]){one}\b", section) for one in named), (name, param.name)


@pytest.mark.parametrize(
    ("connector", "name"), [(PostgreSQL, "postgresql"), (MariaDB, "mariadb-mysql"), (MySQL, "mariadb-mysql")]
)
def test_database_pages_list_what_users_may_set(connector: type[Connector], name: str) -> None:
    page, drivers = (text_of(f"docs/reference/databases/{one}.md") for one in (name, "jdbc-drivers"))
    assert all(f"`{name}`" in page for name in connector.jdbc_properties)
    assert connector.driver.maven in drivers
    assert connector.driver.debian in drivers
    for driver in (connector.driver, *connector.other_drivers):
        assert driver.driver_class in drivers
        assert all(version in drivers for version in driver.safe_from)


@cache
def python_files() -> list[str]:
    return [str(path.relative_to(ROOT)) for path in ROOT.glob("*/**/*.py") if ".venv" not in path.parts]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_files_that_pages_name_exist(page: Path) -> None:
    for named in re.findall(r"`((?:\w+/)*\w+\.py)`", page.read_text(encoding="utf-8")):
        assert any(file == named or file.endswith("/" + named) for file in python_files()), named


@pytest.mark.parametrize("patterns", [USER, DEVELOPER], ids=["user", "developer"])
def test_pages_are_short_and_plain(patterns: tuple[str, ...]) -> None:
    found = {page: level_of(page.read_text(encoding="utf-8")) for page in pages(patterns)}
    assert [str(page) for page, level in found.items() if level.lines > 200] == []
    assert together(found.values()).mean <= 16


def test_user_docs_are_readable_in_three_hours() -> None:
    assert together(level_of(page.read_text(encoding="utf-8")) for page in pages(USER)).words <= 42_000  # 230 a minute
