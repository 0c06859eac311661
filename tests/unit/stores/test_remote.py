"""Object stores and HDFS, without a server."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from qbcd.errors import ConfigError
from qbcd.stores.remote import RemoteStore


@pytest.mark.parametrize(("storage", "extra"), [({}, True), ({"user": "loader"}, False)])
def test_hdfs_without_a_client_says_what_to_install(
    storage: dict[str, str], extra: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARROW_LIBHDFS_DIR", str(tmp_path))
    monkeypatch.setenv("HADOOP_HOME", str(tmp_path))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for _ in range(2):  # Arrow has another message from the second time on
        with pytest.raises(ConfigError, match="libhdfs, which cannot be loaded") as caught:
            RemoteStore("hdfs://127.0.0.1:1/folder", storage).names_in("")
        assert ("pip install 'qbcd[hdfs]'" in str(caught.value)) is extra
