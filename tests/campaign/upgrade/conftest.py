"""The environment of each earlier version, made once per run."""

from __future__ import annotations

import pytest

from tests.campaign.upgrade.old import RELEASES, OldVersion


@pytest.fixture(scope="session", params=RELEASES)
def old(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> OldVersion:
    """An earlier version in an environment of its own."""
    return OldVersion.installed(tmp_path_factory.mktemp(f"version-{request.param}"), RELEASES[request.param])
