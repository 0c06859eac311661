"""The places of the streams of a project in its sinks.

No two streams, and no two sinks, may have the same place.
"""

from __future__ import annotations

import threading

from qbcd.errors import Refused
from qbcd.sinks.base import SinkPlace


class SinkPlaces:
    """The places that streams have claimed; threads share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._places: dict[tuple[str, str], SinkPlace] = {}
        self._claims: dict[str, list[tuple[str, str]]] = {}

    def claim(self, place: SinkPlace, stream: str, sink: str) -> None:
        """Note the place of a stream in a sink."""
        with self._lock:
            if (stream, sink) not in self._places:
                self._claims.setdefault(place.key, []).append((stream, sink))
            self._places[stream, sink] = place

    def problems(self) -> list[tuple[str, Refused]]:
        """Return sink and refusal of all claims of one place."""
        with self._lock:
            claims = list(self._places)
        found = ((sink, self.problem(stream, sink)) for stream, sink in claims)
        return [(sink, problem) for sink, problem in found if problem is not None]

    def problem(self, stream: str, sink: str) -> Refused | None:
        """Return the refusal of a stream and sink whose place another claim has too, or None."""
        with self._lock:
            place = self._places.get((stream, sink))
            if place is None:
                return None
            others = [one for one in self._claims[place.key] if one != (stream, sink)]
        return _refusal(stream, sink, place, others[0]) if others else None


def _refusal(stream: str, sink: str, place: SinkPlace, other: tuple[str, str]) -> Refused:
    other_stream, other_sink = other
    if other_stream == stream:
        what = f"sinks {sink} and {other_sink} would write to the same place, {place.label}"
    else:
        through = "" if other_sink == sink else f" by sink {other_sink}"
        what = f"stream {other_stream} would write to the same place{through}: {place.label}"
    return Refused(f"sink {sink}: {what}", remedy=place.remedy, stream=stream)
