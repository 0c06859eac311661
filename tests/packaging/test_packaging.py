"""The sdist and the wheel.

Complete, without foreign files, and working outside the checkout. The wheel is built from the sdist, installed into an
environment of its own that sees the dependencies of this one but neither the checkout nor this one's qbcd.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from qbcd.version import __version__

ROOT = Path(__file__).parents[2]

# The tree is copied before it is built, because setuptools leaves files next to the sources.
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv*", ".qbcd", "__pycache__", ".*_cache", ".hypothesis", "build", "dist", "*.egg-info", "tests"
)

LIST_MODULES = """
import pkgutil, qbcd
print(qbcd.__file__)
for module in pkgutil.walk_packages(qbcd.__path__, "qbcd."):
    print(module.name)
"""

RENDER_TEMPLATES = """
from jinja2 import meta
from jinja2.defaults import DEFAULT_FILTERS
from qbcd.sql.render import environment

class Anything:
    def __getattr__(self, name):
        return Anything()
    __call__ = __getitem__ = lambda self, *args, **kwargs: Anything()
    def __iter__(self):
        return iter([Anything(), Anything()])
    def __len__(self):
        return 2
    def __str__(self):
        return "stand_in"

env = environment()
env.filters.update({name: str for name in env.filters if name not in DEFAULT_FILTERS})
names = env.list_templates()
# of all: a template includes others; which ones must be real, and what is a number
REAL = {"pairs": "full_join", "share": 0, "shares": 2}
sources = [env.loader.get_source(env, name)[0] for name in names]
wanted = set().union(*(meta.find_undeclared_variables(env.parse(source)) for source in sources))
for name in names:
    text = env.get_template(name).render({variable: Anything() for variable in wanted} | REAL)
    assert text.strip() and "{%" not in text, name
    print(name)
"""


@dataclass(frozen=True)
class Installed:
    sdist: Path
    wheel: Path
    python: Path
    elsewhere: Path
    sources: list[str]  # every file of the package, relative to the checkout

    def run(self, *arguments: str) -> str:
        """Run Python outside of the checkout without this process's settings.

        Return its standard output.
        """
        variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "QBCD"))}
        done = subprocess.run(
            [str(self.python), *arguments],
            cwd=self.elsewhere,
            env=variables,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    base = tmp_path_factory.mktemp("packaging")
    tree, built, elsewhere = base / "tree", base / "dist", base / "elsewhere"
    elsewhere.mkdir()
    shutil.copytree(ROOT, tree, symlinks=True, ignore=LEFT_OUT)
    sources = sorted(str(path.relative_to(tree)) for path in (tree / "qbcd").rglob("*") if path.is_file())
    command([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(built), str(tree)], base)
    (sdist,), (wheel,) = built.glob("*.tar.gz"), built.glob("*.whl")
    venv.create(base / "venv", with_pip=False, symlinks=True)
    python = base / "venv" / "bin" / "python"
    lend_dependencies(python, base / "lent")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--disable-pip-version-check"]
    command([*pip, "--no-deps", "--no-build-isolation", "--no-index", str(sdist)], base)
    return Installed(sdist, wheel, python, elsewhere, sources)


def test_the_version_is_the_one_in_the_source(installed: Installed) -> None:
    assert installed.sdist.name == f"qbcd-{__version__}.tar.gz"
    assert installed.wheel.name == f"qbcd-{__version__}-py3-none-any.whl"
    assert installed.run("-c", "import qbcd; print(qbcd.__version__)").strip() == __version__


def test_the_wheel_holds_the_source_tree_once(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as archive:
        names = archive.namelist()
    assert len(names) == len(set(names))
    assert sorted(n for n in names if ".dist-info/" not in n) == installed.sources
    assert any(n.endswith(".dist-info/licenses/LICENSE") for n in names)


def test_the_sdist_holds_the_source_tree(installed: Installed) -> None:
    with tarfile.open(installed.sdist) as archive:
        inside = {member.name.partition("/")[2]: member for member in archive.getmembers()}
    assert set(installed.sources) <= inside.keys()
    assert {"pyproject.toml", "README.md", "LICENSE"} <= inside.keys()
    assert not any(name.split("/")[0] in ("connectors", "sql_templates") for name in inside)
    assert not any(member.issym() for member in inside.values())


def test_every_module_is_installed(installed: Installed) -> None:
    where, *modules = installed.run("-c", LIST_MODULES).splitlines()
    assert ROOT not in Path(where).parents
    assert sorted(modules) == sorted(
        name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for name in installed.sources
        if name.endswith(".py") and name != "qbcd/__init__.py"
    )


def test_every_template_renders(installed: Installed) -> None:
    rendered = installed.run("-c", RENDER_TEMPLATES).split()
    assert rendered
    assert sorted(rendered) == sorted(
        name.removeprefix("qbcd/sql_templates/")
        for name in installed.sources
        if name.startswith("qbcd/sql_templates/") and name.endswith(".j2")
    )


def test_the_command_works_elsewhere(installed: Installed) -> None:
    script = installed.python.with_name("qbcd")
    assert "demo" in installed.run(str(script), "--help")


def lend_dependencies(python: Path, lent: Path) -> None:
    """Let `python` import this environment's packages, without its qbcd, by a folder of links."""
    lent.mkdir()
    here = {Path(entry) for entry in sys.path if entry.endswith("site-packages")}
    for site in here:
        for entry in site.iterdir():
            if "qbcd" not in entry.name and entry.suffix != ".pth" and not (lent / entry.name).exists():
                (lent / entry.name).symlink_to(entry)
    find_site = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(command([str(python), "-c", find_site], lent).strip())
    (site / "lent.pth").write_text(f"{lent}\n")


def command(arguments: list[str], folder: Path, variables: dict[str, str] | None = None) -> str:
    done = subprocess.run(arguments, cwd=folder, env=variables, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
