"""What executors are sent: the whole package, the same each time, and usable where nothing is installed."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import REPOSITORY

from tricel import bundle
from tricel.cli import main

SETUPTOOLS = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
FOLDERS: dict[str, str] = {n: f for n, f in SETUPTOOLS["package-dir"].items() if n != "tricel.examples"}
USE = """
import sys
sys.path[:] = [p for p in sys.path if "site-packages" not in p]
sys.path[:0], sys.path[len(sys.path):] = sys.argv[1:2], sys.argv[2:]
import lark, tricel, tricel.compiler, yaml
from tricel.spark_backend.engines import Program
for module in (lark, tricel, tricel.compiler, yaml):
    assert module.__file__.startswith(sys.argv[1]), module.__file__
text = 'ce.type.matches("^(a|aa)+$")'
print(Program("cel-expr-python", text, text, frozenset({"ce"}))({"ce": {"type": "aaa"}}))
print(tricel.compile_filter(text).engine)
"""


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundle") / "tricel-bundle.zip"
    bundle.write_bundle(path)
    return path


def modules() -> set[str]:
    """The modules and grammars of the tree, by their names in an archive."""
    return {
        "/".join((*package.split("."), *file.relative_to(REPOSITORY / folder).parts))
        for package, folder in FOLDERS.items()
        for suffix in (".py", ".lark", ".typed")
        for file in (REPOSITORY / folder).rglob(f"*{suffix}")
    }


def test_the_packages_are_those_of_the_tree() -> None:
    assert sorted(FOLDERS) == sorted(bundle.PACKAGES)


def test_a_bundle_holds_every_module_and_no_compiled_one(archive: Path) -> None:
    names = set(zipfile.ZipFile(archive).namelist())
    assert modules() == {n for n in names if n.startswith("tricel/")}
    assert [] == [n for n in names if n.endswith((".so", ".pyd", ".pyc"))]
    assert {"lark/lark.py", "lark/grammars/common.lark", "yaml/__init__.py"} <= names
    assert f"tricel-{metadata.version('tricel')}.dist-info/METADATA" in names


def test_a_bundle_is_the_same_each_time(archive: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.zip"
    bundle.write_bundle(again)
    assert archive.read_bytes() == again.read_bytes()
    assert ["again.zip"] == [p.name for p in tmp_path.iterdir()]


def test_a_bundle_is_imported_where_tricel_is_not_installed(archive: Path, tmp_path: Path) -> None:
    """The compiled packages come from here; without the `site` module an editable installation is not seen."""
    places = sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
    command = [sys.executable, "-I", "-S", "-c", USE, str(archive), *places]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert ["True", "cel-expr-python"] == done.stdout.split(), done.stderr


def test_an_environment_runs_from_where_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "NEEDED", ("google-re2", "lark", "pyyaml"))
    packed = tmp_path / "environment.tar.gz"
    assert 4 == bundle.write_environment(packed)
    with tarfile.open(packed) as archive:
        names = archive.getnames()
        archive.extractall(tmp_path / "unpacked", filter="fully_trusted")
    site = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages/"
    assert modules() == {n.removeprefix(site) for n in names if n.startswith(f"{site}tricel/")}
    assert [] == [n for n in names if "__pycache__" in n or "__editable__" in n]
    python = str(tmp_path / "unpacked" / "bin" / "python")
    code = "import lark, tricel; print(tricel.compile_filter('ce.type == \"a\"').sql, lark.__file__, tricel.__file__)"
    done = subprocess.run([python, "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert "`type` = 'a'" in done.stdout, done.stderr
    assert 2 == done.stdout.count(str(tmp_path / "unpacked"))


def test_an_environment_names_the_executors_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "NEEDED", ())
    packed = tmp_path / "environment.tar.gz"
    bundle.write_environment(packed, "/opt/python/bin/python3")
    with tarfile.open(packed) as archive:
        assert "/opt/python/bin/python3" == archive.getmember("bin/python").linkname
        configuration = archive.extractfile("pyvenv.cfg")
        assert configuration is not None
        assert b"home = /opt/python/bin\n" in configuration.read()


def test_everything_that_is_needed_is_found() -> None:
    found = bundle._closure(bundle.NEEDED)
    assert set(bundle.NEEDED) | {"numpy", "python-dateutil", "pytz", "tzdata"} <= set(found)
    assert not {"pyspark", "hypothesis", "kubernetes", "mypy"} & set(found)


def test_what_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "NEEDED", ("no-such-distribution",))
    given = ["bundle", "--environment", str(tmp_path / "e.tar.gz")]
    result = CliRunner().invoke(main, given)
    assert (2, "error: 'no-such-distribution' is not installed\n") == (result.exit_code, result.output)
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "give --out, or --environment"),
        (["--out", "tricel.whl"], "must end in '.zip'"),
        (["--environment", "environment.zip"], "must end in '.tar.gz'"),
        (["--out", "b.zip", "--python", "/usr/bin/python3"], "--python needs --environment"),
        (["--environment", "b.tar.gz", "--python", "python3"], "an absolute path"),
        (["--out", "/nowhere/b.zip"], "error: No such file or directory: /nowhere/b.zip"),
    ],
)
def test_a_wrong_command_is_one_line(arguments: list[str], says: str) -> None:
    result = CliRunner().invoke(main, ["bundle", *arguments])
    assert result.exit_code == 2
    assert says in result.output
    assert "Traceback" not in result.output
