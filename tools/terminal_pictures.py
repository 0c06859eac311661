"""Draw the terminal pictures of the documentation from real runs.

`python -m tools.terminal_pictures` runs the commands of each picture against a PostgreSQL of its own, at 80 columns,
and writes `docs/images/<picture>.svg`. It needs the extra `demo` and Java. Run it again when output changes.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from qbcd.demo.server import EmbeddedPostgres

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
EXAMPLE = ROOT / "examples" / "first-stream"
WIDTH = 80
# Rich's own format loads fonts from another host; this one uses local fonts.
FORMAT = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
.{unique_id}-title {{ font-family: system-ui, sans-serif; font-size: 18px; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
# The commands of each picture. Those before "---" are preparation and not shown.
GRANT = """psql -q -c "CREATE ROLE reader LOGIN PASSWORD 'secret'" -c "GRANT SELECT ON orders TO reader" """
PICTURES: dict[str, Sequence[str]] = {
    "first-stream": (
        "psql -q -f shop.sql",
        GRANT,
        "---",
        "qbcd check",
        "qbcd prepare",
        "qbcd run --once",
        "psql -q -f changes.sql",
        "qbcd run --once",
        "qbcd status",
        "qbcd changes orders",
        "qbcd verify orders",
    ),
    "mistake": (
        "psql -q -f shop.sql",
        GRANT,
        "sed -i 's/customer, status/custmer, status/' qbcd.yaml",
        "---",
        "qbcd check",
    ),
}


def run(command: str, folder: Path, environment: Mapping[str, str]) -> str:
    """Run a shell command in `folder`; return its output with colors."""
    ran = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        check=False,
    )
    return ran.stdout


def draw(name: str, commands: Sequence[str], server: EmbeddedPostgres) -> None:
    """Run the commands of a picture in a new database, and write the picture."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), highlight=False)
    database = name.replace("-", "_")
    where = {"PGHOST": server.host, "PGPORT": str(server.port), "PGUSER": "postgres"}
    paths = [str(Path(sys.executable).parent), str(server.bin), os.environ["PATH"]]
    environment = {**os.environ, **where, "PATH": os.pathsep.join(paths), "COLUMNS": str(WIDTH)}
    run(f'psql -q -d postgres -c "DROP ROLE IF EXISTS reader" -c "CREATE DATABASE {database}"', ROOT, environment)
    environment |= {"PGDATABASE": database, "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    environment["SHOP_URL"] = f"postgresql://reader:secret@{server.host}:{server.port}/{database}"
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True)
        shown = "---" not in commands
        for command in commands:
            if command == "---":
                shown = True
                continue
            # without progress, which is overwritten on a terminal and is not in the final picture
            real = command.replace("qbcd ", "qbcd --no-progress ", 1) if command.startswith("qbcd ") else command
            printed = run(real, Path(folder), environment)
            if shown:
                console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
                if printed.strip():
                    console.print(Text.from_ansi(printed.rstrip()))
        run('psql -q -c "DROP OWNED BY reader"', Path(folder), environment)
    IMAGES.mkdir(exist_ok=True)
    svg = console.export_svg(title="qbcd", theme=MONOKAI, code_format=FORMAT, unique_id=name)
    (IMAGES / f"{name}.svg").write_text("\n".join(line.rstrip() for line in svg.splitlines()) + "\n", encoding="utf-8")


def main() -> None:
    """Draw every picture, or those that the command line names."""
    wanted = sys.argv[1:] or list(PICTURES)
    with EmbeddedPostgres.start() as server:
        for name in wanted:
            draw(name, PICTURES[name], server)
            sys.stdout.write(f"docs/images/{name}.svg\n")


if __name__ == "__main__":
    main()
