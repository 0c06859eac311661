"""Section `notify`: URLs that get a message when the state of a stream changes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, Any, ClassVar, Literal, get_args
from urllib.parse import SplitResult, unquote, urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, WithJsonSchema

from qbcd.config.fields import Section, Wait, distinct, listed, wrong

Event = Literal["refused", "failed", "recovered", "schema_changed"]
EVENTS: tuple[str, ...] = get_args(Event)

_EXAMPLE = "write url: ${env:HOOK}, an address that begins with https:// or http://"
_LEAST_SECRET = 8  # characters of a part of an address that can be a token


def _events(value: list[str]) -> list[str]:
    if not value:
        raise wrong("the list is empty", f"name some of {', '.join(EVENTS)}")
    for place, name in enumerate(value):
        if name not in EVENTS:
            raise wrong(
                "there is no event <value>", f"name some of {', '.join(EVENTS)}", at=place, value=name, choices=EVENTS
            )
    return distinct(value)


def _hook(value: Any) -> SplitResult | None:
    """Return the parts of an address of a hook; None if it is none."""
    if not value.isascii() or not value.isprintable() or " " in value:
        return None
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # of a port or an IPv6 address
        return None
    return parts if usable else None


def _url(value: SecretStr) -> SecretStr:
    if _hook(value.get_secret_value()) is None:
        raise wrong("not the address of a hook", _EXAMPLE)
    return value


class NotifyConfig(Section):
    """A URL that gets one JSON object per change of state.

    Attributes:
        on: The changes to report.
        url: The address, which is a secret as a whole: that of a chat contains its token.
        timeout: Longest wait for the answer.
    """

    example: ClassVar[str] = _EXAMPLE

    on: Annotated[
        list[str],
        AfterValidator(_events),
        BeforeValidator(listed),
        WithJsonSchema(
            {"anyOf": [{"enum": list(EVENTS)}, {"type": "array", "items": {"enum": list(EVENTS)}, "minItems": 1}]}
        ),
    ] = Field(default=list(EVENTS), validate_default=False)
    url: Annotated[SecretStr, AfterValidator(_url)]
    timeout: Wait = timedelta(seconds=10)

    @property
    def parts(self) -> SplitResult:
        """The parts of the address."""
        return urlsplit(self.url.get_secret_value())

    def secrets(self) -> Iterator[str]:
        """Yield the address, and parts of it that can be tokens."""
        whole, parts = self.url.get_secret_value(), self.parts
        yield from (whole, whole.partition("://")[2], unquote(parts.password or ""))
        yield parts.path + (f"?{parts.query}" if parts.query else "") if len(parts.path) >= _LEAST_SECRET else ""
        for one in (*parts.path.split("/"), *parts.query.replace("=", "&").split("&")):
            yield one if len(one) >= _LEAST_SECRET and not one.isalpha() else ""
