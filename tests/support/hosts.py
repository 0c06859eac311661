"""Hosts of their own on this machine: network namespaces, joined by a bridge."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

SKIPPED = "network namespaces need root and the program ip"


class Hosts:
    """Namespaces whose processes reach this machine at :attr:`address`, and each other.

    Attributes:
        address: That of this machine in their network.
    """

    def __init__(self) -> None:
        self._name, self._made = f"qb{os.getpid() % 100_000}", list[str]()
        self._net = f"10.{64 + os.getpid() % 128}.{os.getpid() // 128 % 256}"
        self.address = f"{self._net}.1"
        self._listeners: list[socket.socket] = []
        _ip(f"link add {self._name} type bridge")
        _ip(f"addr add {self.address}/24 dev {self._name}")
        _ip(f"link set {self._name} up")

    def add(self) -> tuple[str, list[str]]:
        """Make a host; return its address and the beginning of a command that runs there."""
        number = len(self._made)
        name, address = f"{self._name}h{number}", f"{self._net}.{10 + number}"
        _ip(f"netns add {name}")
        self._made.append(name)
        _ip(f"link add {name}v type veth peer name eth0 netns {name}")
        _ip(f"link set {name}v master {self._name} up")
        _ip(f"-n {name} addr add {address}/24 dev eth0")
        for device in ("lo", "eth0"):
            _ip(f"-n {name} link set {device} up")
        return address, ["ip", "netns", "exec", name]

    def unplug(self, number: int) -> None:
        """Cut the network of a host; its processes continue."""
        _ip(f"link set {self._made[number]}v down")

    def forward(self, port: int) -> int:
        """Return a port of :attr:`address` that leads to a port of this machine's loopback interface."""
        listener = socket.create_server((self.address, 0))
        self._listeners.append(listener)
        threading.Thread(target=_accept, args=(listener, port), daemon=True).start()
        return int(listener.getsockname()[1])

    def close(self) -> None:
        """Remove all of it."""
        for listener in self._listeners:
            listener.close()
        for name in self._made:
            with suppress(subprocess.CalledProcessError):
                _ip(f"netns del {name}")
        _ip(f"link del {self._name}")


def _ip(arguments: str) -> None:
    subprocess.run(["ip", *arguments.split()], check=True, capture_output=True)


def _accept(listener: socket.socket, port: int) -> None:
    with suppress(OSError):
        while True:
            near, _ = listener.accept()
            far = socket.create_connection(("127.0.0.1", port))
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=_copy, args=(source, target), daemon=True).start()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    for one in (source, target):
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)


@contextmanager
def hosts() -> Iterator[Hosts]:
    """Run hosts for the block; where they cannot be made, the test is skipped."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip(SKIPPED)
    try:
        made = Hosts()
    except subprocess.CalledProcessError as error:
        pytest.skip(f"{SKIPPED}: {error.stderr.decode(errors='replace').strip()}")
    try:
        yield made
    finally:
        made.close()
