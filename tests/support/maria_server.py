"""A private MariaDB, of the system's package or of a folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from typing_extensions import override

from qbcd.demo.server import Setting
from qbcd.errors import EnvironmentMissing
from tests.support.family_server import FamilyServer, Programs

BIN_VARIABLE = "QBCD_TEST_MARIADB_BIN"
PACKAGES = ("mariadb-server-core", "mariadb-client-core")  # no service; the first one's script needs the second

_FOLDERS = ("/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin")


class MariaServer(FamilyServer):
    """A running MariaDB; see the base class."""

    product = "MariaDB"
    scheme = "mariadb"
    # Every commit is written as in production, so that kill -9 loses none. Only the disk is not waited for, because a
    # crash of the machine ends the owner too. `loose_`: some releases do not know the option.
    defaults: ClassVar[Mapping[str, Setting]] = {
        "max_connections": 200,
        "default_time_zone": "+00:00",
        "character_set_server": "utf8mb4",
        "secure_file_priv": "",  # tests export tables
        "innodb_flush_log_at_trx_commit": 1,
        "debug_no_sync": True,
        "loose_innodb_flush_method": "nosync",
        "loose_innodb_log_file_buffering": True,
        "innodb_doublewrite": False,
        "innodb_buffer_pool_size": "256M",
        "innodb_log_file_size": "64M",
    }

    @classmethod
    @override
    def programs(cls) -> Programs:
        return find_programs()

    @override
    def _installing(self, data: Path) -> list[str]:
        command = [str(self._programs.install), "--no-defaults", *self._base(), f"--datadir={data}"]
        command += ["--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"]
        return [*command, "--force", "--debug-no-sync"]  # forced: it does not look up the name of this host


def find_programs() -> Programs:
    """Return the programs of MariaDB.

    They are searched for in the folders of `QBCD_TEST_MARIADB_BIN`, or on the path and in Debian's folders.

    Raises:
        EnvironmentMissing: They were not found.
    """
    named = os.environ.get(BIN_VARIABLE, "")
    path = named or os.pathsep.join([os.environ.get("PATH", os.defpath), *_FOLDERS])
    found = {name: shutil.which(name, path=path) for name in ("mariadbd", "mariadb-install-db", "my_print_defaults")}
    missing = [name for name, place in found.items() if place is None]
    server, install = found["mariadbd"], found["mariadb-install-db"]
    if missing or server is None or install is None:
        raise EnvironmentMissing(
            f"{' and '.join(missing)} not found in {named or 'PATH and the usual folders'}",
            remedy=f"make mariadb, or apt-get install {' '.join(PACKAGES)}, or name their folder in {BIN_VARIABLE}",
        )
    base = Path(server).resolve().parent.parent if named else None
    return Programs(Path(server), Path(install), base)
