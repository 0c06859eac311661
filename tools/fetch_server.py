"""Unpack a database server of a Debian suite, with its own libraries and loader, into the user's cache.

`python -m tools.fetch_server mysql` does it once; the folder is then `servers/mysql` in qbcd's cache. Nothing is
installed, and root's rights are not needed: apt runs with state of its own, against the registry and the key that this
machine's sources name. Where that cannot work, it says why on one line and exits with 1.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from qbcd.spark.drivers import user_cache

KEY = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
SYSTEM = Path("/etc/os-release")
LIMIT = 600  # seconds for the slowest command, the download

# `$0` is the wrapper's own path, so that the folder may be copied.
_WRAPPER = """#!/bin/sh
base=${{0%/*}}/..
exec "$base/lib/{loader}" --library-path "$base/lib" "$base/lib/{program}" "$@"
"""


class Impossible(Exception):
    """The server cannot be fetched on this machine; the text says why."""


@dataclass(frozen=True)
class Server:
    """A server of Debian's packages.

    Attributes:
        packages: Names of packages; what they depend on is fetched too.
        programs: Files that run with the folder's own loader, by their paths below `usr`.
        files: Other files and folders that are needed.
        suite: The suite of Debian that has the packages.
        home: Patterns of files and folders below the root, which get into the folder `home`.
        loaded: Patterns of libraries below `usr` that the server loads by their names.
        proof: Arguments with which the first program ends with 0.
    """

    packages: tuple[str, ...]
    programs: tuple[str, ...]
    files: tuple[str, ...] = ()
    suite: str = "sid"
    home: tuple[str, ...] = ()
    loaded: tuple[str, ...] = ()
    proof: tuple[str, ...] = ("--no-defaults", "--version")


_FIREBIRD: dict[str, Any] = {
    "home": (
        *(
            f"usr/lib/*-linux-*/firebird/*/{name}"
            for name in ("plugins", "firebird.msg", "tzdata", "intl/libfbintl.so")
        ),
        "etc/firebird/*/plugins.conf",
        "etc/firebird/*/fbintl.conf",
        "usr/share/firebird/*/security.sql",
    ),
    "loaded": ("lib/*-linux-*/firebird/*/plugins/*.so", "lib/*-linux-*/firebird/*/intl/*.so", "lib/*/libicu*.so.??"),
    "proof": ("-z",),
}
SERVERS = {
    "mysql": Server(("mysql-server-core",), ("sbin/mysqld",), ("share/mysql", "lib/mysql/plugin")),
    "mariadb": Server(
        ("mariadb-server-core", "mariadb-server", "mariadb-client-core"),
        ("sbin/mariadbd", "bin/my_print_defaults", "bin/resolveip"),
        ("bin/mariadb-install-db", "share/mariadb", "share/mysql", "lib/mysql/plugin"),
    ),
    "firebird3": Server(
        ("firebird3.0-server", "firebird3.0-utils"), ("sbin/firebird", "bin/isql-fb"), suite="bookworm", **_FIREBIRD
    ),
    "firebird4": Server(
        ("firebird4.0-server", "firebird4.0-utils"),
        ("lib/firebird/4.0/bin/firebird", "lib/firebird/4.0/bin/isql-fb"),
        **_FIREBIRD,
    ),
}


def folder_of(name: str) -> Path:
    """Return the folder of a server in the user's cache, whether it exists or not."""
    return user_cache() / "servers" / name


def fetch(name: str) -> Path:
    """Return the folder of a server; fetch it unless it exists.

    Raises:
        Impossible: It cannot be had here.
    """
    folder = folder_of(name)
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=folder.parent) as work:
        packages, unpacked, made = Path(work) / "apt", Path(work) / "all", Path(work) / "made"
        unpacked.mkdir()
        for package in _download(SERVERS[name], packages):
            _unpack(package, unpacked)
        _assemble(SERVERS[name], unpacked, made)
        if not folder.is_dir():  # another process may have been faster
            made.rename(folder)
    return folder


def _download(server: Server, work: Path) -> list[Path]:
    """Download packages with all that they depend on, through an apt without installed packages."""
    for part in ("lists/partial", "cache/archives/partial"):
        (work / part).mkdir(parents=True)
    (work / "status").touch()
    (work / "sources").write_text(f"deb [signed-by={KEY}] {_registry()} {server.suite} main\n")
    options = {
        "Dir::Etc::sourcelist": work / "sources",
        "Dir::Etc::sourceparts": "-",
        "Dir::State": work,
        "Dir::State::lists": work / "lists",
        "Dir::State::status": work / "status",
        "Dir::Cache": work / "cache",
        "APT::Sandbox::User": "",  # another account could not write into this folder
        "APT::Update::Error-Mode": "any",
        "Acquire::Retries": 1,
        "Acquire::http::Timeout": 20,
    }
    apt = ["apt-get", "-qq", *(part for key, value in options.items() for part in ("-o", f"{key}={value}"))]
    _run([*apt, "update"])
    _run([*apt, "install", "-y", "--no-install-recommends", "--download-only", *server.packages])
    return sorted((work / "cache" / "archives").glob("*.deb"))


def _registry() -> str:
    """Return the address of the registry from which this Debian takes its own release."""
    system = dict(line.partition("=")[::2] for line in SYSTEM.read_text().splitlines()) if SYSTEM.exists() else {}
    if system.get("ID") != "debian" or not shutil.which("apt-get") or not KEY.exists():
        raise Impossible("this system is not Debian")
    listed = _run(["apt-get", "indextargets", "--format", "$(CREATED_BY) $(COMPONENT) $(RELEASE) $(REPO_URI)"])
    wanted = ["Packages", "main", system.get("VERSION_CODENAME", "")]
    found = [address for *target, address in map(str.split, listed.splitlines()) if target == wanted]
    if not found:
        raise Impossible("apt's sources do not have this release of Debian")
    return found[0]


def _unpack(package: Path, into: Path) -> None:
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(package)], stdout=subprocess.PIPE) as archive:
        _run(["tar", "-x", "--no-same-owner", "-C", str(into)], stdin=archive.stdout)
    if archive.returncode:
        raise Impossible(f"{package.name} cannot be unpacked")


def _assemble(server: Server, root: Path, made: Path) -> None:
    """Make the folder of a server of what it needs of an unpacked system."""
    usr = root / "usr"
    loader = next(iter([*sorted(usr.glob("lib*/ld-linux*.so.*")), *sorted(root.glob("lib*/ld-linux*.so.*"))]), None)
    if loader is None:
        raise Impossible("the packages have no loader for this processor")
    for part in ("bin", "sbin", "lib", "home"):
        (made / part).mkdir(parents=True)
    copies = [(usr / name, made / name) for name in server.files]
    copies += [(path, made / "home" / path.name) for pattern in server.home for path in sorted(root.glob(pattern))]
    for source, target in copies:
        if source.is_dir():
            shutil.copytree(source, target, symlinks=False, ignore_dangling_symlinks=True)
        elif source.exists():
            shutil.copy(source, target)
    shutil.copy(loader, made / "lib" / loader.name)
    folders = [loader.resolve().parent, *sorted(usr.glob("lib/*-linux-*")), *sorted(root.glob("lib/*-linux-*"))]
    programs = [usr / name for name in server.programs]
    loaded = [path for pattern in server.loaded for path in sorted(usr.glob(pattern))]
    for library in {*_libraries(loader, folders, [*programs, *loaded]), *(p for p in loaded if "icu" in p.name)}:
        shutil.copy(library, made / "lib" / library.name)
    wrappers = [made / ("sbin" if path.parent.name == "sbin" else "bin") / path.name for path in programs]
    for wrapper, program in zip(wrappers, programs, strict=True):
        shutil.copy(program, made / "lib" / program.name)
        wrapper.write_text(_WRAPPER.format(loader=loader.name, program=program.name))
        wrapper.chmod(0o755)
    _run(["chmod", "-R", "a+rX", str(made)])
    _run([str(wrappers[0]), *server.proof])


def _libraries(loader: Path, folders: Iterable[Path], programs: Iterable[Path]) -> set[Path]:
    """Return the shared libraries that programs load, but the loader."""
    path, found = ":".join(map(str, folders)), set[Path]()
    for program in programs:
        listed = _run([str(loader), "--library-path", path, "--list", str(program)])
        found |= {Path(line.split(" => ")[1].rsplit(" (", 1)[0]) for line in listed.splitlines() if " => /" in line}
    return {library for library in found if library.name != loader.name}


def _run(command: Sequence[str], stdin: IO[bytes] | None = None) -> str:
    """Run a command; return what it prints."""
    try:
        done = subprocess.run(command, stdin=stdin or subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Impossible(f"{command[0]}: {error}") from error
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise Impossible(f"{command[0]} failed: {last}")
    return str(done.stdout)


def main() -> int:
    """Fetch the server that the command line names; return the exit code."""
    parser = argparse.ArgumentParser(description="Unpack a server of Debian into the user's cache.")
    parser.add_argument("server", choices=sorted(SERVERS))
    name = parser.parse_args().server
    try:
        print(fetch(name))
    except (Impossible, OSError) as error:
        print(f"{name} cannot be fetched: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
