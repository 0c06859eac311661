"""The configuration: read, validated, with defaults resolved.

The package is above `errors` and `model`, and below everything that connects or works.
"""

from __future__ import annotations

from qbcd.config.document import Document, InvalidConfig
from qbcd.config.loader import config_from_dict, load_config
from qbcd.config.models import DefaultsConfig, JdbcConfig, ProjectConfig, SourceConfig, SparkConfig, TableConfig
from qbcd.config.schema import json_schema, write_schema
from qbcd.config.sink_options import SinkConfig
from qbcd.config.strategy_base import StrategyConfig
from qbcd.config.strategy_registry import frozen_options
from qbcd.config.streams import GuardsConfig, StreamConfig
from qbcd.config.template import SCHEMA_FILE, TEMPLATE, write_template

__all__ = [
    "SCHEMA_FILE",
    "TEMPLATE",
    "DefaultsConfig",
    "Document",
    "GuardsConfig",
    "InvalidConfig",
    "JdbcConfig",
    "ProjectConfig",
    "SinkConfig",
    "SourceConfig",
    "SparkConfig",
    "StrategyConfig",
    "StreamConfig",
    "TableConfig",
    "config_from_dict",
    "frozen_options",
    "json_schema",
    "load_config",
    "write_schema",
    "write_template",
]
