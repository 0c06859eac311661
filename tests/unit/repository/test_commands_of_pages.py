"""Every command line of `qbcd` in a user page is one that the command line accepts."""

from __future__ import annotations

import re
import shlex
from functools import cache
from typing import Any

import pytest
from typer.main import get_command

from qbcd.cli.commands import application
from tools.reading_level import USER, pages

BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
KINDS = ("", "sh", "console")
INDENTED = re.compile(r"(?:(?<=\n\n)|\A)(?:    .*\n+)+")
IN_INDENTED = re.compile(r"^    +(?:\$ )?(qbcd .*)$", re.MULTILINE)
SHOWN = re.compile(r"^(?:\$ )?(?:eval \"\$\()?(qbcd [^\n)]*)", re.MULTILINE)
INLINE = re.compile(r"`(qbcd [^`]+)`")
SYNOPSIS = re.compile(r"\[|\.\.|\b(?:COMMAND|OPTIONS)\b")  # brackets of a synopsis; left-out words


def commands_of(text: str) -> list[str]:
    """Return the command lines of a page, in blocks, indented or in sentences."""
    found = [line for _, kind, block in BLOCK.findall(text) if kind in KINDS for line in SHOWN.findall(block)]
    found += [line for block in INDENTED.findall(BLOCK.sub("", text)) for line in IN_INDENTED.findall(block)]
    found += INLINE.findall(text)
    return [line for line in found if not SYNOPSIS.search(line)]


COMMANDS = {line: page for page in pages(USER) for line in commands_of(page.read_text(encoding="utf-8"))}


@cache
def commands() -> Any:
    """Return the group of all commands, of a Click that has no types here."""
    return get_command(application(["--help"]))


def test_commands_are_found() -> None:
    assert len(COMMANDS) > 80


@pytest.mark.parametrize("line", COMMANDS)
def test_the_command_line_accepts_it(line: str) -> None:
    words = shlex.split(line, comments=True)[1:]
    group = commands()
    name = words[0] if words else ""
    if name.startswith("-"):
        assert name in {opt for param in group.params for opt in param.opts}, COMMANDS[line]
        return
    command = group.commands[name]
    words = [word for word in words[1:] if word not in ("--json", "-v")]  # also before the command
    known = {opt for param in command.params for opt in (*param.opts, *param.secondary_opts)}
    assert {word for word in words if re.fullmatch("--?[a-z][a-z-]*", word)} <= known, COMMANDS[line]
    if not words or not re.search(r"^\s*(?:\$ )?" + re.escape(line), COMMANDS[line].read_text(), re.MULTILINE):
        return  # in a sentence, where arguments may be left out
    command.make_context(name, words)
