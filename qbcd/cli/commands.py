"""The commands, in the order in which ``qbcd --help`` lists them."""

from __future__ import annotations

from qbcd.cli.advise import advise
from qbcd.cli.app import app, command
from qbcd.cli.demo import demo
from qbcd.cli.diff import diff
from qbcd.cli.discover import discover
from qbcd.cli.inspect import changes, verify
from qbcd.cli.plan import explain
from qbcd.cli.poll import run
from qbcd.cli.prepare import prepare, resend, reset, retire, skip
from qbcd.cli.project import check, init, schema
from qbcd.cli.replay import replay
from qbcd.cli.report import report
from qbcd.cli.spark import spark
from qbcd.cli.status import status

__all__ = ["app"]

for function in (
    init,
    discover,
    check,
    advise,
    explain,
    prepare,
    run,
    status,
    report,
    changes,
    verify,
    diff,
    retire,
    skip,
    resend,
    reset,
    replay,
    schema,
    spark,
    demo,
):
    command(function)
