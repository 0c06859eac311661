"""The command line without a server: help, usage, errors, exit codes.

Reports create nothing.
"""

from __future__ import annotations

import io
import json
import logging
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Annotated, Optional

import pytest

import qbcd.config
from qbcd.cli import main
from qbcd.cli.app import without_optional
from qbcd.config import TEMPLATE, json_schema
from qbcd.errors import MissingPrivilege
from tests.support.cli import COMMANDS, Cli, finished, spawn

CONFIG = """\
version: 1
sources:
  shop: {url: "postgresql://reader:hunter22@127.0.0.1:1/shop"}
sinks:
  changes: {type: jsonl, path: out}
defaults: {sinks: [changes]}
tables:
  - {source: shop, table: public.orders, strategy: id_rcs}
"""


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, workspace: Path) -> Cli:
    monkeypatch.chdir(workspace)
    return Cli(capsys)


@pytest.fixture
def project(workspace: Path) -> Path:
    (workspace / "qbcd.yaml").write_text(CONFIG)
    return workspace


def test_help_lists_every_command(cli: Cli) -> None:
    ran = cli("--help")
    assert ran.code == 0
    listed = [line.split()[1] for line in ran.out.splitlines() if line.startswith("│ ") and line[2].isalpha()]
    assert listed == list(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_the_common_options(cli: Cli, command: str) -> None:
    ran = cli(command, "--help")
    assert ran.code == 0
    for option in ("--config", "-c", "-v", "--json", "--no-progress"):
        assert option in ran.out
    assert not re.search(r"<bool>|BOOLEAN|--no-(?!progress)", ran.out)  # a switch has no value and no opposite


@pytest.mark.parametrize(
    ("typed", "meant"), [(["chek"], "check"), (["verfy"], "verify"), (["run", "--onse"], "--once")]
)
def test_a_mistyped_name_gets_a_suggestion(cli: Cli, typed: list[str], meant: str) -> None:
    ran = cli(*typed)
    assert ran.code == 2
    assert meant in ran.err
    assert ran.out == ""


def test_help_loads_neither_spark_nor_a_database() -> None:
    program = (
        "import sys\nfrom qbcd.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
        "print([m for m in ('pyspark', 'sqlalchemy', 'qbcd.api') if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_python_m_qbcd_is_the_command_line(workspace: Path) -> None:
    ran = finished(spawn(workspace, "--version"))
    assert (ran.code, ran.out) == (0, f"qbcd {qbcd.__version__}\n")


def test_init_writes_a_file_once(cli: Cli, workspace: Path) -> None:
    ran = cli("init", "new", "--json")
    assert (ran.code, ran.data) == (0, {"file": "new/qbcd.yaml", "schema": "new/.qbcd-schema.json"})
    assert (workspace / "new" / "qbcd.yaml").read_text() == qbcd.config.TEMPLATE
    again = cli("init", "new")
    assert again.code == 2
    assert "new/qbcd.yaml exists and is not overwritten" in again.err


def test_schema_is_json(cli: Cli) -> None:
    ran = cli("schema")
    assert (ran.code, ran.data, ran.err) == (0, json_schema(), "")


def test_init_writes_a_schema_for_editors_and_schema_renews_it(cli: Cli, workspace: Path) -> None:
    file = workspace / ".qbcd-schema.json"
    assert cli("init").code == 0
    assert (workspace / "qbcd.yaml").read_text().startswith(f"# yaml-language-server: $schema={file.name}\n")
    assert json.loads(file.read_text()) == json_schema()
    file.write_text(json.dumps({"title": json_schema()["title"]}))  # of an older version
    ran = cli("schema", "-o", file.name)
    assert (ran.code, ran.out, json.loads(file.read_text())) == (0, f"wrote {file.name}\n", json_schema())
    refused = cli("schema", "-o", "qbcd.yaml")
    assert (refused.code, (workspace / "qbcd.yaml").read_text()) == (2, TEMPLATE)
    assert "qbcd.yaml exists, is not a schema of qbcd, and is not overwritten" in refused.err
    assert cli("schema", "-o", "nowhere/x.json").code == 2
    assert sorted(path.name for path in workspace.iterdir()) == [file.name, "qbcd.yaml"]


def test_init_writes_the_given_file_and_names_the_next_step(cli: Cli, workspace: Path) -> None:
    said = []
    for command, file in (
        (["init"], "qbcd.yaml"),
        (["init", "a b"], "a b/qbcd.yaml"),
        (["init", "-c", "sub/my.yaml"], "sub/my.yaml"),
    ):
        ran = cli(*command)
        assert (ran.code, ran.out) == (0, f"wrote {file}\n")
        assert (workspace / file).read_text() == TEMPLATE
        said.append(ran.err.partition("then: ")[2].strip())
    assert said == ["qbcd check", "qbcd -c 'a b/qbcd.yaml' check", "qbcd -c sub/my.yaml check"]
    both = cli("init", "there", "-c", "my.yaml")
    assert both.code == 2
    assert "init accepts a folder or -c FILE, but not both" in both.err
    assert not (workspace / "there").exists()


def test_the_template_asks_for_a_url_without_the_password(
    cli: Cli, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli("init").code == 0
    [url] = re.findall(r"# (dialect://\S+),", TEMPLATE)
    monkeypatch.setenv("SHOP_URL", url.replace("dialect", "postgresql").replace("host:port", "db.example:5432"))
    monkeypatch.setenv("SHOP_PASSWORD", "x")
    assert cli("status").code == 0


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("--source shop", "--source needs --table"),
        ("--table public.t", "--table needs --source"),
        ("orders --source shop --table t", "not both"),
        ("--watch soon", "--watch soon is no time (write a number and a unit, such as 30s or 10m)"),
        ("--source shp --table t", 'there is no source "shp" (did you mean "shop"?)'),
        ("ordrs", 'there is no stream "ordrs"'),
    ],
)
@pytest.mark.usefixtures("project")
def test_mistaken_options_of_advise(cli: Cli, arguments: str, expected: str) -> None:
    ran = cli("advise", *arguments.split())
    assert ran.code == 2
    assert expected in ran.err


def test_a_configuration_error_names_the_line(cli: Cli, project: Path) -> None:
    (project / "qbcd.yaml").write_text(CONFIG.replace("strategy:", "strategie:"))
    ran = cli("status")
    assert (ran.code, ran.out) == (2, "")
    assert 'error: qbcd.yaml:8: tables[0].strategie: unknown key "strategie" (did you mean "strategy"?)' in ran.err


def test_several_configuration_errors_are_all_reported(cli: Cli, project: Path) -> None:
    (project / "qbcd.yaml").write_text(CONFIG.replace("strategy:", "strategie:") + "spork: {}\n")
    ran = cli("run", "--json")
    assert ran.code == 2
    assert len(ran.data["problems"]) == 2
    assert ran.err.count("error: qbcd.yaml:") == 2


def test_a_missing_file_is_named(cli: Cli) -> None:
    ran = cli("check", "-c", "other.yaml")
    assert ran.code == 2
    assert "other.yaml" in ran.err


def test_common_options_may_precede_the_command(cli: Cli, project: Path) -> None:
    (project / "qbcd.yaml").rename(project / "my.yaml")
    before = cli("--json", "-c", "my.yaml", "status")
    after = cli("status", "--json", "-c", "my.yaml")
    assert (before.code, after.code) == (0, 0)
    assert before.data == after.data
    assert cli("-c", "wrong.yaml", "status", "-c", "my.yaml").code == 0


def test_an_unknown_stream_gets_the_nearest_name(cli: Cli, project: Path) -> None:
    for command in (["explain"], ["verify"], ["changes"], ["reset", "-y"], ["run", "--once"], ["prepare"], ["check"]):
        ran = cli(*command, "order")
        assert ran.code == 2
        assert 'there is no stream "order" (did you mean "orders"?)' in ran.err


def test_status_of_what_was_never_prepared_creates_nothing(cli: Cli, project: Path) -> None:
    ran = cli("status", "--json")
    [stream] = ran.data["streams"]
    assert (stream["stream"], stream["prepared"], stream["epoch"], stream["lag_seconds"]) == ("orders", False, 0, None)
    assert "not prepared" in cli("status").out
    assert [path.name for path in project.iterdir()] == ["qbcd.yaml"]


def test_a_source_that_cannot_be_reached(cli: Cli, project: Path) -> None:
    ran = cli("check", "--json")
    assert ran.code == 1
    [failed] = [f for f in ran.data["findings"] if f["level"] == "error" and f["stream"]]
    assert failed["error"].startswith("source shop (127.0.0.1:1) cannot be reached")
    assert failed["remedy"]
    assert "hunter22" not in ran.out + ran.err
    assert [path.name for path in project.iterdir()] == ["qbcd.yaml"]
    assert cli("explain", "orders").code == 1


def test_an_error_is_one_message_with_its_remedy(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(directory: Path, name: str) -> Path:
        raise MissingPrivilege("no right to write", remedy="GRANT it", stream="orders")

    monkeypatch.setattr(qbcd.config, "write_template", refuse)
    ran = cli("init")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err == "error: stream orders: no right to write (GRANT it)\n"
    as_json = cli("init", "--json")
    assert as_json.code == 3
    assert as_json.data == {
        "error": "no right to write",
        "remedy": "GRANT it",
        "stream": "orders",
        "where": "",
        "exit_code": 3,
    }
    assert "Traceback" not in ran.err
    assert "Traceback" in cli("init", "-v").err


def test_a_bug_is_one_line_and_shows_its_traceback_on_request(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def break_down(directory: Path, name: str) -> Path:
        raise ZeroDivisionError("no [bold]zero[/] at postgresql://u:s3cret@h/d\nsecond line")

    monkeypatch.setattr(qbcd.config, "write_template", break_down)
    ran = cli("init")
    assert ran.code == 1
    assert ran.err == (
        "error: unexpected ZeroDivisionError: no [bold]zero[/] at postgresql://u:***@h/d "
        "(run with -v for the traceback)\n"
    )
    loud = cli("init", "-v")
    assert loud.code == 1
    assert "Traceback (most recent call last)" in loud.err
    assert "break_down" in loud.err
    assert "s3cret" not in loud.err


@pytest.mark.parametrize("command", [("prepare",), ("run", "--once")])
def test_an_error_of_a_stream_shows_its_traceback_on_request(cli: Cli, project: Path, command: tuple[str, ...]) -> None:
    quiet, loud = cli(*command), cli(*command, "-v")
    assert (quiet.code, loud.code) == (1, 1)
    assert "Traceback" not in quiet.err
    assert "Traceback (most recent call last)" in loud.err
    assert "SourceError" in loud.err
    assert "hunter22" not in loud.err


def test_an_interrupt_exits_130(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(directory: Path, name: str) -> Path:
        raise KeyboardInterrupt

    monkeypatch.setattr(qbcd.config, "write_template", interrupt)
    assert cli("init").code == 130


@pytest.mark.filterwarnings("always")
def test_logs_go_to_stderr_masked(cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def chatty(self: object, streams: object) -> list[object]:
        logging.getLogger("qbcd.test").warning("warned with %s", "hunter22")
        logging.getLogger("qbcd.test").info("said aside")
        warnings.warn("Unknown content hunter22", UserWarning, stacklevel=1)
        try:
            raise ValueError("of hunter22")
        except ValueError:
            logging.getLogger("qbcd.test").debug("failed aside", exc_info=True)
            logging.getLogger("library.part").error("gave up at %s", "hunter22", exc_info=True)
        return []

    monkeypatch.setattr("qbcd.api.Project.status", chatty)
    quiet, loud = cli("status", "--json"), cli("status", "--json", "-v")
    assert (quiet.data, loud.data) == ({"streams": [], "left": [], "new_tables": []},) * 2
    assert "warned with ***" in quiet.err
    assert "said aside" not in quiet.err
    assert "said aside" in loud.err
    assert "ValueError: of ***" in loud.err
    assert "library.part: gave up at ***" in quiet.err
    assert "Traceback" not in quiet.err
    assert "Unknown content" not in quiet.err
    assert "UserWarning" in loud.err
    assert "hunter22" not in quiet.err + loud.err


QUESTION = "Forget replica and checkpoint of orders? Its consumers must reload. [y/N]: "


@pytest.mark.parametrize("answers", ["n\n", "\n", "what?\nNo\n"])
def test_reset_asks_first(cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch, answers: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(answers))
    ran = cli("reset", "orders")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == QUESTION * answers.count("\n") + "nothing was changed\n"


def test_a_question_leaves_stdout_to_json(cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    ran = cli("reset", "orders", "--json")
    assert (ran.code, ran.out) == (1, '{"stream": "orders", "reset": false}\n')
    monkeypatch.setattr("qbcd.api.StreamHandle.waiting_for", lambda handle, sink: 2)
    monkeypatch.setattr("sys.stdin", io.StringIO("no\n"))
    ran = cli("retire", "orders", "lake", "--json")
    assert (ran.code, ran.out) == (1, '{"stream": "orders", "sink": "lake", "retired": false}\n')


def test_reset_without_an_answer_changes_nothing(project: Path) -> None:
    ran = finished(spawn(project, "reset", "orders", "--json"))
    assert ran.code == 2
    assert ran.data["error"] == "reset was not confirmed"
    assert "--yes" in ran.err


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("postgresql://reader", "postgrsql://reader", 'qbcd.yaml:3: sources.shop.url: no connector for database "po'),
        ("sinks:\n", "state: oracle://u@h/x\nsinks:\n", 'qbcd.yaml:4: state: qbcd cannot keep state in "oracle"'),
        (
            "sinks:\n",
            "state: postgresql://u@h/x?sslmod=verify-full\nsinks:\n",
            "qbcd.yaml:4: state: the URL of `state` has option 'sslmod', which its driver does not know (check ",
        ),
        (
            "sinks:\n",
            "state: mariadb://u@h/x?charset=utf8mb4&ssl_cipher=x&ssl_caa=/ca.pem\nsinks:\n",
            "qbcd.yaml:4: state: the URL of `state` has option 'ssl_caa', which its driver does not know (check ",
        ),
    ],
)
def test_a_database_that_nobody_knows_has_its_place(cli: Cli, project: Path, old: str, new: str, place: str) -> None:
    (project / "qbcd.yaml").write_text(CONFIG.replace(old, new, 1))
    ran = cli("check")
    assert ran.code == 2
    assert place in ran.err


def test_a_spark_setting_that_polls_would_refuse_is_found_before(cli: Cli, project: Path) -> None:
    setting = "spark: {conf: {spark.sql.session.timeZone: CET}}\n"
    (project / "qbcd.yaml").write_text(CONFIG.replace("sinks:\n", f"{setting}sinks:\n", 1))
    ran = cli("check")
    assert ran.err.count('qbcd.yaml:4: spark.conf."spark.sql.session.timeZone": spark.sql.session.timeZone is CET') == 1
    assert ran.out == "1 stream: 1 error; project: 1 error\n"
    assert "  error    Spark\n" in cli("check", "-v").out


def test_arguments_with_default_none_stay_arguments() -> None:
    """Python 3.10 makes their types optional, which hides what Typer must know."""
    written = Annotated[list[str] | None, "an argument"]
    assert without_optional(Optional[written]) == written  # noqa: UP045 -- as Python 3.10 makes it
    assert without_optional(written) == written
    assert without_optional(int | None) == int | None


def test_init_takes_a_folder(cli: Cli, workspace: Path) -> None:
    assert cli("init", "sub").code == 0
    assert (workspace / "sub" / "qbcd.yaml").exists()


def test_an_interrupt_before_a_command_begins_has_its_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted:
        @staticmethod
        def find_spec(name: str, *_: object) -> None:
            if name == "qbcd.cli.commands":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "qbcd.cli.commands", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupted, *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 130
