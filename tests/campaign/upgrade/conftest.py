"""The environment of version 0.1, made once per run."""

from __future__ import annotations

import pytest

from tests.campaign.upgrade.old import OldVersion


@pytest.fixture(scope="session")
def old(tmp_path_factory: pytest.TempPathFactory) -> OldVersion:
    """Version 0.1 in an environment of its own."""
    return OldVersion.installed(tmp_path_factory.mktemp("version-0.1"))
