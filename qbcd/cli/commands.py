"""The commands, in the order in which ``qbcd --help`` lists them."""

from __future__ import annotations

from qbcd.cli.app import app, command
from qbcd.cli.demo import demo
from qbcd.cli.discover import discover
from qbcd.cli.inspect import changes, verify
from qbcd.cli.plan import advise, explain
from qbcd.cli.poll import run
from qbcd.cli.prepare import prepare, reset, retire, skip
from qbcd.cli.project import check, init, schema
from qbcd.cli.status import status

__all__ = ["app"]

for function in (
    init,
    discover,
    check,
    explain,
    prepare,
    run,
    status,
    changes,
    verify,
    retire,
    skip,
    reset,
    schema,
    demo,
):
    command(function)
command(advise, hidden=True)  # not built yet: whoever types it gets an error that says so
