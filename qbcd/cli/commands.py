"""The commands, in the order in which ``qbcd --help`` lists them."""

from __future__ import annotations

from qbcd.cli.app import app, command
from qbcd.cli.demo import demo
from qbcd.cli.inspect import changes, status, verify
from qbcd.cli.plan import advise, explain
from qbcd.cli.poll import run
from qbcd.cli.prepare import prepare, reset, retire
from qbcd.cli.project import check, init, schema

__all__ = ["app"]

for function in (init, check, advise, explain, prepare, run, status, changes, verify, retire, reset, schema, demo):
    command(function)
