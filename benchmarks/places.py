"""The place of a comparison: a temporary server with its table, changes and own driver."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg2
import pymysql
from sqlalchemy import make_url
from typing_extensions import override

from qbcd.demo.server import EmbeddedPostgres
from tests.support.debian_server import DebianPostgres
from tests.support.family_server import FamilyServer
from tests.support.maria_server import MariaServer
from tests.support.mysql_server import MySQLServer


class Place(ABC):
    """A database with one table of about 200 bytes a row.

    Args:
        url: SQLAlchemy URL of the database.
    """

    table: str
    create_sql: str
    change_sql: str

    def __init__(self, url: str) -> None:
        self.url = url

    @abstractmethod
    def connect(self) -> Any:
        """Open a connection of the database's own driver, in autocommit, without parallel workers."""

    @abstractmethod
    def version(self) -> str:
        """Return product and version of the server."""

    @abstractmethod
    def process(self) -> int:
        """Return the process id of the server on this machine."""

    @abstractmethod
    def drawn(self, number: int) -> str:
        """Return SQL of a whole number from 0 on, drawn by `id`; another `number` draws others."""

    def create(self, rows: int) -> None:
        """Create the table with `rows` rows."""
        self.run(self.create_sql.format(rows=rows))

    def change(self, *, updates: int, deletes: int, inserts: int) -> None:
        """Change the newest rows."""
        self.run(self.change_sql.format(updates=updates, deletes=deletes, inserts=inserts))

    def one(self, query: str) -> Any:
        """Return the first value of a query."""
        with closing(self.connect()) as conn, conn.cursor() as cursor:
            cursor.execute(query)
            return cursor.fetchall()[0][0] if cursor.description else None

    def run(self, statements: str) -> None:
        """Run statements, each in its own transaction."""
        with closing(self.connect()) as conn, conn.cursor() as cursor:
            for statement in statements.split(";\n"):
                if statement.strip():
                    cursor.execute(statement)


class PostgresPlace(Place):
    """An embedded PostgreSQL.

    Attributes:
        programs: Folder with `pgbench` and other programs.
    """

    programs: Path
    table = "public.orders"
    create_sql = """
CREATE TABLE public.orders (
  id bigint PRIMARY KEY, customer text NOT NULL, quantity int, amount numeric(12, 2), placed_at timestamptz,
  weight double precision, note text
);
INSERT INTO public.orders
SELECT i, 'customer-' || (i::bigint * 7919) % 100003, i % 97, (i % 100000) / 100.0,
       timestamptz '2024-01-01 00:00:00+00' + i * interval '1 second', i / 3.0, repeat(md5(i::text), 4)
FROM generate_series(1, {rows}) AS i;
VACUUM ANALYZE public.orders;
"""
    change_sql = """
UPDATE public.orders SET quantity = quantity + 1 WHERE id > (SELECT max(id) FROM public.orders) - {updates};
DELETE FROM public.orders WHERE id IN (SELECT id FROM public.orders ORDER BY id DESC OFFSET {updates} LIMIT {deletes});
INSERT INTO public.orders SELECT max(id) OVER () + row_number() OVER (), customer, quantity, amount, placed_at, weight,
  note FROM (SELECT * FROM public.orders ORDER BY id DESC LIMIT {inserts}) AS newest;
"""

    @classmethod
    def server(cls, settings: Mapping[str, Any]) -> EmbeddedPostgres:
        """Start a server."""
        return EmbeddedPostgres.start(settings=settings)

    @classmethod
    @contextmanager
    def start(cls, settings: Mapping[str, Any]) -> Iterator[Place]:
        """In the block, run a server."""
        usual = {"shared_buffers": "1GB", "max_connections": 50, "max_wal_size": "4GB", "jit": False}
        with cls.server({**usual, **settings}) as server:
            place = cls(server.url)
            place.programs = server.bin
            yield place

    @override
    def connect(self) -> Any:
        conn = psycopg2.connect(self.url, options="-c max_parallel_workers_per_gather=0")
        conn.autocommit = True
        return conn

    @override
    def drawn(self, number: int) -> str:
        return f"abs(hashtext(id::text || 'x{number}')::bigint)"

    @override
    def version(self) -> str:
        return f"PostgreSQL {self.one('SHOW server_version')}"

    @override
    def process(self) -> int:
        with closing(self.connect()) as conn:
            status = Path(f"/proc/{conn.info.backend_pid}/status").read_text()
        return int(status.partition("PPid:")[2].split()[0])


class DebianPlace(PostgresPlace):
    """PostgreSQL of Debian's package, which can load libraries of other packages."""

    @classmethod
    @override
    def server(cls, settings: Mapping[str, Any]) -> EmbeddedPostgres:
        return DebianPostgres.installed(settings)


class MariaPlace(Place):
    """A temporary MariaDB of the installed package."""

    product = "MariaDB"
    table = "bench.orders"
    create_sql = """
CREATE TABLE bench.orders (
  id bigint PRIMARY KEY, customer varchar(40) NOT NULL, quantity int, amount decimal(12, 2), placed_at timestamp(6),
  weight double, note varchar(200)
) CHARACTER SET utf8mb4;
INSERT INTO bench.orders
SELECT seq, concat('customer-', (seq * 7919) % 100003), seq % 97, (seq % 100000) / 100.0,
       timestamp'2024-01-01 00:00:00' + INTERVAL seq SECOND, seq / 3e0, repeat(md5(seq), 4)
FROM seq_1_to_{rows};
ANALYZE TABLE bench.orders;
"""
    change_sql = """
SELECT max(id) INTO @last FROM bench.orders;
UPDATE bench.orders SET quantity = quantity + 1 WHERE id > @last - {updates};
DELETE o FROM bench.orders AS o
JOIN (SELECT id FROM bench.orders ORDER BY id DESC LIMIT {deletes} OFFSET {updates}) AS d ON d.id = o.id;
INSERT INTO bench.orders SELECT @last + row_number() OVER (ORDER BY id), customer, quantity, amount, placed_at, weight,
  note FROM (SELECT * FROM bench.orders ORDER BY id DESC LIMIT {inserts}) AS newest;
"""

    @classmethod
    def server(cls, settings: Mapping[str, Any]) -> FamilyServer:
        """Start a server."""
        return MariaServer.start(settings={"innodb_buffer_pool_size": "1G", **settings})

    @classmethod
    @contextmanager
    def start(cls, settings: Mapping[str, Any]) -> Iterator[Place]:
        """In the block, run a server."""
        with cls.server(settings) as server:
            cls(server.url_of("mysql")).one("CREATE DATABASE bench")
            yield cls(server.url_of("bench"))

    @override
    def connect(self) -> Any:
        url = make_url(self.url)
        return pymysql.connect(
            host=url.host or "",
            port=url.port or 0,
            user=url.username,
            database=url.database,
            autocommit=True,
            charset="utf8mb4",
            init_command="SET time_zone = '+00:00', collation_connection = utf8mb4_bin",
        )

    @override
    def drawn(self, number: int) -> str:
        return f"crc32(concat(id, 'x{number}'))"

    @override
    def version(self) -> str:
        return f"{self.product} {self.one('SELECT version()')}"

    @override
    def process(self) -> int:
        return int(Path(self.one("SELECT @@pid_file")).read_text())


class MySQLPlace(MariaPlace):
    """A temporary MySQL of the folder that `make mysql` makes."""

    product = "MySQL"
    create_sql = MariaPlace.create_sql.replace("repeat(md5(seq), 4)", "repeat(left(sha2(seq, 256), 32), 4)").replace(
        "FROM seq_1_to_{rows}",
        "FROM json_table(concat('[0', repeat(',0', {rows} - 1), ']'), '$[*]' COLUMNS (seq FOR ORDINALITY)) AS numbers",
    )

    @classmethod
    @override
    def server(cls, settings: Mapping[str, Any]) -> MySQLServer:
        return MySQLServer.start(settings={"innodb_buffer_pool_size": "1G", **settings})


PLACES: dict[str, type[PostgresPlace] | type[MariaPlace]] = {
    "postgresql": PostgresPlace,
    "postgresql-debian": DebianPlace,
    "mariadb": MariaPlace,
    "mysql": MySQLPlace,
}
