"""The registry of sinks. A new one needs a module in `qbcd/sinks` and a line here.

Sinks are above the configuration, which must not import them. So the registry has the path of each class, in the form
of an entry point, and imports it when a configuration first uses the sink. The class names its options
(``Sink.options_class``). A sink of an installed package is in the entry-point group ``qbcd.sinks``, and checks its
options itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint
from typing import Annotated, Any

from pydantic import PlainValidator, SerializeAsAny, ValidationInfo, WithJsonSchema

from qbcd.common import plugins
from qbcd.config.databases import TARGET_DATABASES
from qbcd.config.fields import wrong
from qbcd.config.sink_options import OtherOptions, SinkConfig

BUILT_SINKS = {
    "jsonl": "qbcd.sinks.jsonl:JsonlSink",
    "parquet": "qbcd.sinks.parquet:ParquetSink",
    "console": "qbcd.sinks.console:ConsoleSink",
    "database": "qbcd.sinks.table.sink:DatabaseSink",
    "delta": "qbcd.sinks.lake.delta:DeltaSink",
    "iceberg": "qbcd.sinks.lake.iceberg:IcebergSink",
    "kafka": "qbcd.sinks.kafka:KafkaSink",
    "webhook": "qbcd.sinks.webhook:WebhookSink",
}

SinkClass = type[Any]  # a subclass of `qbcd.sinks.Sink`, which this package must not import


def built_sink(name: str) -> SinkClass:
    """Return the class of a built-in sink."""
    found: SinkClass = EntryPoint(name, BUILT_SINKS[name], plugins.SINKS).load()
    return found


def sink_options(name: str) -> type[SinkConfig]:
    """Return the class of the options of a sink, built in or of a package."""
    options: type[SinkConfig] = built_sink(name).options_class if name in BUILT_SINKS else OtherOptions
    return options


def _sink(value: Any, info: ValidationInfo) -> SinkConfig:
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
            if name in TARGET_DATABASES:
                remedy = f"write {{type: database, url: {name}://.., mode: mirror}}"
            raise wrong("there is no sink type <value>", remedy, at="type", value=name, choices=choices)
    return sink_options(name).model_validate(value, context=info.context)


# a placeholder in the JSON Schema: `qbcd.config.schema` inserts the options of all sinks
AnySink = Annotated[SerializeAsAny[SinkConfig], PlainValidator(_sink), WithJsonSchema({"type": "object"})]
