"""pg_comparator of Debian's package between the table and a copy, with its checksum in C."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import make_url
from typing_extensions import override

from benchmarks.measure import seconds
from benchmarks.orders import Orders
from benchmarks.tools.base import Found, Tool, Unavailable, output, unpacked

PACKAGES = ("postgresql-comparator", "libdbd-pg-perl", "libdbi-perl")
DEFAULT: Sequence[str] = ()
TUNED = ("--use-key", "--max-levels=3")  # for an integer key that is evenly distributed
OPERATIONS = ("UPDATE", "INSERT", "DELETE")
FUNCTION = """
CREATE OR REPLACE FUNCTION {name}(text) RETURNS {type} LANGUAGE C CALLED ON NULL INPUT
AS '{library}', '{symbol}'"""
FUNCTIONS = (("fnv2", "int2"), ("fnv4", "int4"), ("fnv8", "int8"))


class PgComparator(Tool):
    """pg_comparator, unpacked and not installed; the server loads its library by path.

    The library must match the server's release.

    Args:
        orders: The table and its copy.
        name: Its name in the table of results.
        options: Options that override its defaults.
    """

    def __init__(self, orders: Orders, name: str, options: Sequence[str]) -> None:
        self.name = name
        self._orders, self._options = orders, options
        self._place = orders.place
        self._shared: Path | None = None

    @override
    def setup(self) -> str:
        files = unpacked(PACKAGES)
        self._program = ["perl", str(files / "usr/bin/pg_comparator")]
        self._env = {"PERL5LIB": ":".join(str(f) for f in files.glob("usr/lib/*/perl5/*"))}
        libraries = sorted(files.glob("usr/lib/postgresql/*/lib/pgcmp.so"))
        # the server's account cannot read this account's folders
        self._shared = Path(tempfile.mkdtemp(prefix="qbcd-pgcmp-"))
        self._shared.chmod(0o755)
        library = shutil.copy(libraries[-1], self._shared)
        built_for = libraries[-1].parts[-3]
        for name, kind in FUNCTIONS:
            self._create(FUNCTION.format(name=name, type=kind, library=library, symbol=f"text_{name}"), built_for)
        version = output([*self._program, "--version"], env=self._env).strip()
        self.start_up = min(seconds(lambda: output([*self._program, "--version"], env=self._env)) for _ in range(3))
        return version.splitlines()[-1].split("/")[-1].replace("version is ", "")

    @override
    def run(self) -> Found:
        url = make_url(self._place.url)
        base = f"pgsql://{url.username}@{url.host}:{url.port}/{url.database}"
        columns = f"?id:{','.join(self._orders.columns)}"
        command = [*self._program, "--checksum-function=fnv", *self._options]
        command += [f"{base}/{self._orders.table}{columns}", f"{base}/{self._orders.copied}{columns}"]
        lines: list[str] = []
        elapsed = seconds(lambda: lines.extend(output(command, env=self._env).splitlines()))
        return Found(elapsed - self.start_up, sum(line.startswith(OPERATIONS) for line in lines))

    @override
    def cleanup(self) -> None:
        if self._shared is not None:
            shutil.rmtree(self._shared)

    def _create(self, statement: str, built_for: str) -> None:
        try:
            self._place.run(statement)
        except Exception as error:
            reason = str(error).strip().splitlines()[0].split(": ")[-1]
            raise Unavailable(
                f"its library is built for PostgreSQL {built_for} and does not load into {self._place.version()} "
                f"({reason}); see --database postgresql-debian"
            ) from error
