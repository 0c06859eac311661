"""Selection of rows to look up from the source's list of recent writes, and its requests."""

from __future__ import annotations

from dataclasses import replace

from qbcd.model import KeyRange, NamedKey, RowSelection
from qbcd.ranges import leaves, recent_keys, row_selection

FOUND = [NamedKey(b"\x00\x07", ("7",)), NamedKey(b"\x01\x07", ("263",)), NamedKey(b"", ("",))]


def test_rows_are_looked_up_unless_some_must_have_been_deleted() -> None:
    selections = [recent_keys.rows_to_look_up(grown, 99, FOUND) for grown in range(-1, 5)]
    assert [one is not None for one in selections] == [False, True, True, True, True, False]
    assert {one for one in selections if one} == {RowSelection(leaves.as_bits([0, 7]), 3, 0, named=tuple(FOUND))}
    assert recent_keys.rows_to_look_up(0, 99, []) is None, "it differs, and no row of it was written"


def test_the_one_deleted_row_is_recognized_by_its_digest() -> None:
    by_digest = recent_keys.rows_to_look_up(-1, 2**63, [])
    assert by_digest == RowSelection(leaves.EVERY, 0, 0, deleted_digest=-(2**63))
    assert recent_keys.rows_to_look_up(-1, -(2**63), []) is None, "no row has such a digest"
    assert recent_keys.rows_to_look_up(-2, 99, []) is None
    assert row_selection.of_source([KeyRange(1, None, None), KeyRange(2, None, None, only=by_digest)]) == [
        KeyRange(1, None, None)
    ]


def test_requests_of_ranges_follow_their_selection() -> None:
    whole = KeyRange(1, None, ("5",))
    named = replace(whole, range_id=2, only=recent_keys.rows_to_look_up(0, 99, FOUND))
    some = replace(whole, range_id=3, only=RowSelection(leaves.as_bits([3]), 1, 0))
    traced = KeyRange(
        4, ("512",), ("1024",), only=RowSelection(leaves.as_bits([7]), 1, 0, {7: (519).to_bytes(8, "big")})
    )
    found = row_selection.parted([whole, named, some, traced])
    assert found.whole == [whole, some]
    assert found.texts == [(2, ("7",)), (2, ("263",)), (2, ("",))]
    assert found.numbers == [(4, 519)]
    assert [row_selection.is_by_key(r) for r in (whole, named, some, traced)] == [False, True, False, True]
