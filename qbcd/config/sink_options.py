"""Sinks in the configuration, with the options of each type.

Another type is accepted if an installed package has it in the entry-point group ``qbcd.sinks``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, ValidationInfo, model_validator

from qbcd import plugins
from qbcd.config.fields import LocalPath, Section, Wait, Whole, base_dir_of, local_path, wrong

BUILT_SINKS = ("jsonl", "parquet", "console")
_OTHER = "other"


class SinkConfig(Section):
    """A sink and its options."""

    type: str

    @property
    def options(self) -> dict[str, Any]:
        """The options with their values, defaults filled in."""
        return {name: getattr(self, name) for name in type(self).model_fields if name != "type"}


class JsonlSinkConfig(SinkConfig):
    """A file of JSON lines per batch under `path`."""

    type: Literal["jsonl"]
    path: LocalPath
    lock_timeout: Wait = timedelta(seconds=60)


class ParquetSinkConfig(SinkConfig):
    """A folder of Parquet files per batch under `path`."""

    type: Literal["parquet"]
    path: LocalPath
    lock_timeout: Wait = timedelta(seconds=60)


class ConsoleSinkConfig(SinkConfig):
    """A table per batch on the terminal, of at most `limit` rows."""

    type: Literal["console"]
    limit: Whole = Field(default=20, ge=1, le=100_000)


class OtherSink(SinkConfig):
    """A sink of an installed package, which checks its options; `path` must be local."""

    settings: dict[str, Any] = Field(default_factory=dict, repr=False)

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, data: Any, info: ValidationInfo) -> Any:
        if not isinstance(data, dict):
            return data
        settings = {key: item for key, item in data.items() if key != "type"}
        if settings.get("path") is not None:
            settings["path"] = local_path(settings["path"], base_dir_of(info), at="path")
        return {"type": data.get("type"), "settings": settings}

    @property
    def options(self) -> dict[str, Any]:
        """The options as written, `path` made absolute."""
        return dict(self.settings)


SINK_OPTIONS: dict[str, type[SinkConfig]] = {
    "jsonl": JsonlSinkConfig,
    "parquet": ParquetSinkConfig,
    "console": ConsoleSinkConfig,
    _OTHER: OtherSink,
}


def _sink(value: Any) -> Any:
    if isinstance(value, SinkConfig):
        return value
    if not isinstance(value, Mapping) or not isinstance(value.get("type"), str):
        raise wrong("a sink is a mapping with `type` and options", "write {type: jsonl, path: out/changes}")
    name = value["type"]
    if name not in BUILT_SINKS:
        installed = plugins.installed(plugins.SINKS)
        if name not in installed:
            choices = (*BUILT_SINKS, *installed)
            remedy = f"there are {', '.join(choices)}"
            raise wrong("there is no sink type <value>", remedy, at="type", value=name, choices=choices)
    return value


def _sink_tag(value: Any) -> str:
    name = value.get("type") if isinstance(value, Mapping) else value.type
    return name if name in BUILT_SINKS else _OTHER


AnySink = Annotated[
    Annotated[
        Annotated[JsonlSinkConfig, Tag("jsonl")]
        | Annotated[ParquetSinkConfig, Tag("parquet")]
        | Annotated[ConsoleSinkConfig, Tag("console")]
        | Annotated[OtherSink, Tag(_OTHER)],
        Discriminator(_sink_tag),
    ],
    BeforeValidator(_sink),
]
