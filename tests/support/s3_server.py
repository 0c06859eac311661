"""An S3 server of the package moto, in a process of its own."""

from __future__ import annotations

import importlib
import importlib.util
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from pyarrow import fs

from tests.support import free_port, wait_until

SKIPPED = "moto's S3 server is not installed (pip install 'moto[server]')"


def has_moto() -> bool:
    """Return True if the server is installed."""
    return importlib.util.find_spec("moto") is not None and importlib.util.find_spec("flask") is not None


@dataclass(frozen=True)
class S3Server:
    """A running server.

    Attributes:
        endpoint: Its address, as in the option of a sink.
    """

    endpoint: str

    @property
    def storage(self) -> dict[str, str]:
        """The options of a sink."""
        keys = {"access_key": "AKIATESTTESTTEST", "secret_key": "s3cr/et+of+the+test"}
        return {"endpoint": self.endpoint, "region": "us-east-1", **keys}

    def client(self, **more: Any) -> fs.FileSystem:
        """Return a client of the tests' own."""
        named = {name: value for name, value in self.storage.items() if name != "endpoint"}
        return fs.S3FileSystem(**named, endpoint_override=self.endpoint.partition("//")[2], scheme="http", **more)

    def begin_upload(self, bucket: str, key: str) -> None:
        """Begin an upload in parts, as a process that is killed then."""
        keys = {"aws_access_key_id": self.storage["access_key"], "aws_secret_access_key": self.storage["secret_key"]}
        client = importlib.import_module("boto3").client(  # moto needs it too
            "s3", endpoint_url=self.endpoint, region_name="us-east-1", **keys
        )
        client.create_multipart_upload(Bucket=bucket, Key=key)

    def make_bucket(self, name: str) -> None:
        """Create a bucket."""
        self.client(allow_bucket_creation=True).create_dir(name)


@contextmanager
def s3_server() -> Iterator[S3Server]:
    """Start a server for the block; without the package the test is skipped."""
    if not has_moto():
        pytest.skip(SKIPPED)
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: answers(port))
        yield S3Server(f"http://127.0.0.1:{port}")
    finally:
        process.terminate()
        process.wait()


def answers(port: int) -> bool:
    """Return True if a server of this machine listens on a port."""
    with socket.socket() as trial:
        return trial.connect_ex(("127.0.0.1", port)) == 0
