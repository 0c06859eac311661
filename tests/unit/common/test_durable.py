"""Files that are replaced durably."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from qbcd.common.durable import replace_text, rewrite_text


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_a_file_of_the_user_keeps_its_mode_and_its_link(tmp_path: Path, mode: int) -> None:
    (tmp_path / "a").mkdir()
    target, link = tmp_path / "a" / "real.yaml", tmp_path / "link.yaml"
    target.write_text("old")
    target.chmod(mode)
    link.symlink_to("a/real.yaml")
    rewrite_text(link, "new")
    assert (target.read_text(), target.stat().st_mode & 0o777) == ("new", mode)
    assert os.readlink(link) == "a/real.yaml"
    assert os.listdir(tmp_path / "a") == ["real.yaml"]


def test_a_device_is_not_replaced(tmp_path: Path) -> None:
    """Root would make `/dev/null` a file."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    with pytest.raises(OSError, match="not a regular file"):
        replace_text(tmp_path / "link", "new")
    assert (tmp_path / "pipe").is_fifo()
    assert len(os.listdir(tmp_path)) == 2


def test_what_cannot_be_replaced_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "real.yaml"
    target.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        rewrite_text(target, "\ud800")
    assert (target.read_text(), os.listdir(tmp_path)) == ("old", ["real.yaml"])
    chowned = list[tuple[int, int]]()

    def refused(handle: int, owner: int, group: int) -> None:
        chowned.append((owner, group))
        raise PermissionError

    monkeypatch.setattr(os, "fchown", refused)
    target.chmod(0o660)
    rewrite_text(target, "new")
    assert target.stat().st_mode & 0o777 == 0o600, "its group is another one"
    assert chowned == [(os.getuid(), os.getgid()), (-1, os.getgid())]
