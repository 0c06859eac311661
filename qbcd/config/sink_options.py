"""Base classes of sink options; those of each type are in the module of its sink."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, WithJsonSchema, model_validator
from typing_extensions import override

from qbcd.config.fields import Section, base_dir_of, local_path

Initial = Literal["replica", "next"]
# In YAML the word null is no text.
Policy = Annotated[
    Literal["refuse", "null", "text"],
    BeforeValidator(lambda value: "null" if value is None else value),
    WithJsonSchema({"enum": ["refuse", "null", "text", None]}),
]
_NOT_OPTIONS = ("type", "initial")  # of a sink's class


@dataclass(frozen=True)
class SinkNeeds:
    """Needs of a sink: conditions that its streams must meet.

    Attributes:
        baseline: The rows that are there at `prepare`, as events.
        key: Rows are identified by a key.
        old_values: Updates and deletes have the old values.
        subject: The sink's mode, for messages.
        every_batch: It accepts only the next number, so that no batch may be passed over.
    """

    baseline: bool = False
    key: bool = False
    old_values: bool = False
    subject: str = ""
    every_batch: bool = False


@dataclass(frozen=True)
class SecretOption:
    """An option that has a secret, which must not be written in the file.

    Attributes:
        path: Keys from the sink to the option.
    """

    path: tuple[str, ...]
    text: str = field(repr=False)


class SinkConfig(Section):
    """A sink and its options.

    Attributes:
        type: Kind of the sink.
    """

    type: str

    @property
    def starts_from(self) -> Initial | None:
        """The beginning of a new sink in a prepared stream; None for the default of its type."""
        return None

    @property
    def begins_with_all_rows(self) -> bool:
        """The sink shows all rows of a stream, so that it needs those of the baseline."""
        return False

    @property
    def needs(self) -> SinkNeeds:
        """The needs of the sink."""
        return SinkNeeds(baseline=self.begins_with_all_rows)

    def secrets(self) -> Iterator[SecretOption]:
        """Yield the options that have a secret, if the masking does not know them by their names."""
        yield from ()

    @property
    def options(self) -> dict[str, Any]:
        """The options with their values, defaults filled in."""
        return {name: getattr(self, name) for name in type(self).model_fields if name not in _NOT_OPTIONS}


class BuiltOptions(SinkConfig):
    """A sink of qbcd's own.

    Attributes:
        initial: The beginning of a sink that is new in a prepared stream: all rows of the ``replica``, or the
            ``next`` batch.
    """

    initial: Initial | None = None

    @property
    @override
    def starts_from(self) -> Initial | None:
        return self.initial


class OtherOptions(SinkConfig):
    """A sink of an installed package, which checks its options; `path` must be local.

    Attributes:
        settings: All keys except `type`.
    """

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
    @override
    def options(self) -> dict[str, Any]:
        """The options as written, `path` made absolute."""
        return dict(self.settings)
