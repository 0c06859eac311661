"""A private MySQL, of the folder that `make mysql` makes or of another one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from typing_extensions import override

from qbcd.demo.server import Setting
from qbcd.errors import EnvironmentMissing
from qbcd.spark.drivers import user_cache
from tests.support.family_server import FamilyServer, Programs

BIN_VARIABLE = "QBCD_TEST_MYSQL_BIN"

# Root may log in only from a socket otherwise, because the server resolves no names.
_ROOT = "CREATE USER root@'127.0.0.1' IDENTIFIED BY ''; GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;\n"


class MySQLServer(FamilyServer):
    """A running MySQL; see the base class."""

    product = "MySQL"
    scheme = "mysql"
    # As of MariaDB: each commit is written, the disk is not waited for. The binary log is on, as by default, and small,
    # because the folder may be in memory.
    defaults: ClassVar[Mapping[str, Setting]] = {
        "max_connections": 200,
        "default_time_zone": "+00:00",
        "innodb_flush_log_at_trx_commit": 1,
        "innodb_flush_method": "nosync",
        "innodb_doublewrite": "OFF",
        "innodb_buffer_pool_size": "256M",
        "innodb_redo_log_capacity": "64M",
        "sync_binlog": 0,
        "max_binlog_size": "16M",
        "binlog_expire_logs_seconds": 60,
        "secure_file_priv": "",  # tests export tables
        "mysqlx": "OFF",
    }

    @classmethod
    @override
    def programs(cls) -> Programs:
        return find_mysql()

    @override
    def _installing(self, data: Path) -> list[str]:
        first = self.directory / "first.sql"
        first.write_text(_ROOT)
        first.chmod(0o644)
        command = [str(self._programs.install), "--no-defaults", *self._base(), f"--datadir={data}"]
        options = {name: self.defaults[name] for name in ("innodb_redo_log_capacity", "innodb_flush_method")}
        own = [f"--{name}={value}" for name, value in options.items()]
        return [*command, *own, "--initialize-insecure", f"--init-file={first}"]

    @override
    def _socket(self) -> str:
        return str(self.directory / "socket")  # it cannot be without one


def find_mysql() -> Programs:
    """Return the programs of MySQL: in a folder of `QBCD_TEST_MYSQL_BIN`, or in the folder that `make mysql` makes.

    The path is not searched, because other servers have programs of the same name.

    Raises:
        EnvironmentMissing: They were not found.
    """
    named = os.environ.get(BIN_VARIABLE, "") or str(user_cache() / "servers" / "mysql" / "sbin")
    server = shutil.which("mysqld", path=named)
    if server is None:
        raise EnvironmentMissing(
            f"mysqld not found in {named}", remedy=f"make mysql, or name the folder of mysqld in {BIN_VARIABLE}"
        )
    return Programs(Path(server), Path(server), Path(server).resolve().parent.parent)
