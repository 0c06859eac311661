"""The Typer application, and the options of every command."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup
from typing_extensions import override

from qbcd.cli.completion import DEFAULT_CONFIG as DEFAULT_CONFIG
from qbcd.cli.completion import stream_names
from qbcd.cli.output import Output
from qbcd.version import __version__

HELP = "Finds inserts, updates and deletes in databases that can only be queried."


class _Command(TyperCommand):
    """A command whose help shows no type for ``--help``, which is a switch, and for arguments."""

    @override
    def get_params(self, ctx: Any) -> Any:
        found: list[Any] = super().get_params(ctx)
        for parameter in found:
            if parameter.param_type_name == "argument":
                parameter.display_type_rich = lambda ctx: None
        return found

    @override
    def get_help_option(self, ctx: Any) -> Any:
        return _as_switch(super().get_help_option(ctx))


class _Commands(TyperGroup):
    """The commands, with ``--help`` and the options of Typer as switches."""

    @override
    def get_params(self, ctx: Any) -> Any:
        found: list[Any] = super().get_params(ctx)
        for parameter in found:
            if parameter.name in ("install_completion", "show_completion"):
                _as_switch(parameter)
        return found

    @override
    def get_help_option(self, ctx: Any) -> Any:
        return _as_switch(super().get_help_option(ctx))


def _as_switch(option: Any) -> Any:
    if option is not None:
        option.metavar = ""
    return option


app = typer.Typer(
    name="qbcd",
    cls=_Commands,
    help=HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def switch(*names: str, **more: Any) -> Any:
    """Return an option without a value; by default Typer's help would show one."""
    return typer.Option(*names, metavar="", **more)


Config = Annotated[
    Path | None, typer.Option("-c", "--config", metavar="FILE", help="The configuration; default: qbcd.yaml.")
]
Verbose = Annotated[bool, switch("-v", "--verbose", help="Log more, and show tracebacks.")]
Json = Annotated[bool, switch("--json", help="Machine-readable output on stdout.")]
NoProgress = Annotated[bool, switch("--no-progress", help="No progress on stderr.")]

StreamName = Annotated[str, typer.Argument(metavar="STREAM", help="The stream's name.", autocompletion=stream_names)]
StreamNames = Annotated[
    list[str] | None, typer.Argument(metavar="STREAM", help="Streams; default: all.", autocompletion=stream_names)
]


@dataclass
class Common:
    """The common options that are written before the name of the command."""

    config: Path | None = None
    verbose: bool = False
    as_json: bool = False
    no_progress: bool = False


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"qbcd {__version__}")
        raise typer.Exit


@app.callback()
def common_options(
    ctx: typer.Context,
    config: Config = None,
    verbose: Verbose = False,
    as_json: Json = False,
    no_progress: NoProgress = False,
    version: Annotated[
        bool, switch("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Store the options before the command; options after it have priority."""
    ctx.obj = Common(config, verbose, as_json, no_progress)


def command(function: Callable[..., int], name: str = "", *, hidden: bool = False) -> None:
    """Add a command to the application.

    Args:
        function: The command. Its parameters are an :class:`~qbcd.cli.output.Output`, then the command's own, annotated
            for Typer. It returns the exit code, and its docstring is the help. Each field of a parameter that is a
            dataclass is an option.
        name: The command's name; default: the function's.
        hidden: Do not list the command.
    """

    @wraps(function)
    def run(
        ctx: typer.Context, config: Config, verbose: Verbose, as_json: Json, no_progress: NoProgress, **own: Any
    ) -> None:
        before: Common = ctx.obj
        output = Output(
            config=config or before.config or DEFAULT_CONFIG,
            verbose=verbose or before.verbose,
            as_json=as_json or before.as_json,
            progress=not (no_progress or before.no_progress),
        )
        raise typer.Exit(output.run(lambda: function(output, **_grouped(function, own))))

    run.__doc__ = inspect.getdoc(function)
    _sign(run, function)
    app.command(name or function.__name__, cls=_Command, hidden=hidden)(run)


def _grouped(function: Callable[..., int], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `function`, with the options of a dataclass as one value."""
    made, rest = dict[str, Any](), dict(own)
    for name, kind in get_type_hints(function).items():
        if is_dataclass(kind) and isinstance(kind, type):
            made[name] = kind(**{f.name: rest.pop(f.name) for f in fields(kind)})
    return made | rest


def without_optional(kind: Any) -> Any:
    """Return an annotated type that Python 3.10 has made optional, since its default is None."""
    parts = get_args(kind)
    optional = get_origin(kind) is Union and len(parts) == 2 and parts[1] is type(None)
    return parts[0] if optional and get_origin(parts[0]) is Annotated else kind


def _sign(run: Callable[..., None], function: Callable[..., int]) -> None:
    """Give `run` the signature: context, parameters of `function`, common options."""
    kinds = {name: without_optional(kind) for name, kind in get_type_hints(function, include_extras=True).items()}
    keyword = inspect.Parameter.KEYWORD_ONLY
    own = list(inspect.signature(function).parameters.values())[1:]
    parameters = [inspect.Parameter("ctx", keyword, annotation=typer.Context)]
    for p in own:
        if not is_dataclass(group := kinds[p.name]):
            parameters.append(p.replace(kind=keyword, annotation=group))
            continue
        hints = get_type_hints(group, include_extras=True)
        parameters += [
            inspect.Parameter(f.name, keyword, default=f.default, annotation=hints[f.name]) for f in fields(group)
        ]
    for name, kind, default in (
        ("config", Config, None),
        ("verbose", Verbose, False),
        ("as_json", Json, False),
        ("no_progress", NoProgress, False),
    ):
        parameters.append(inspect.Parameter(name, keyword, default=default, annotation=kind))
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
