"""An S3 server for the tests of a folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.campaign.cluster.store_scene import BUCKET
from tests.support.s3_server import S3Server, s3_server


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    with s3_server() as running:
        running.make_bucket(BUCKET)
        yield running


@pytest.fixture
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A new folder for a project; its name is that of the workdir in the bucket."""
    made = tmp_path / f"p{abs(hash(request.node.nodeid)) % 10**9}"
    made.mkdir()
    return made
