"""The wheel holds the whole package, comes out the same from an sdist, and works outside the checkout, offline."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
from conftest import REPOSITORY

SETUPTOOLS = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
FOLDERS: dict[str, str] = SETUPTOOLS["package-dir"]
DATA = ("*.lark", "py.typed")


def run(*command: str | Path, cwd: Path) -> str:
    """Standard output of a command, which must succeed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def build(kind: str, source: Path, out: Path) -> Path:
    """Path of the 'wheel' or 'sdist' that setuptools, as installed here, builds of a source tree."""
    out.mkdir()
    run(sys.executable, "-c", f"from setuptools import build_meta; build_meta.build_{kind}({str(out)!r})", cwd=source)
    (built,) = out.iterdir()
    return built


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what packaging reads, so that building leaves nothing in the checkout."""
    copy = tmp_path_factory.mktemp("packaging") / "source"
    copy.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, copy)
    for folder in FOLDERS.values():
        shutil.copytree(REPOSITORY / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


@pytest.fixture(scope="module")
def wheel(source: Path) -> Path:
    return build("wheel", source, source.parent / "wheel")


def package_files(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def test_the_wheel_holds_every_module_and_every_grammar(source: Path, wheel: Path) -> None:
    expected = {
        "/".join((*package.split("."), *file.relative_to(source / folder).parts))
        for package, folder in FOLDERS.items()
        for pattern in ("*.py", *DATA)
        for file in (source / folder).rglob(pattern)
    }
    assert expected == package_files(wheel)


def test_the_wheel_has_a_grammar(wheel: Path) -> None:
    assert any(name.startswith("tricel/grammar/") and name.endswith(".lark") for name in package_files(wheel))


def test_a_wheel_from_the_sdist_is_the_same(source: Path, wheel: Path) -> None:
    sdist = build("sdist", source, source.parent / "sdist")
    run(sys.executable, "-m", "tarfile", "-e", sdist, source.parent / "unpacked", cwd=source.parent)
    (unpacked,) = (source.parent / "unpacked").iterdir()
    again = build("wheel", unpacked, source.parent / "again")
    with zipfile.ZipFile(wheel) as first, zipfile.ZipFile(again) as second:
        assert sorted(first.namelist()) == sorted(second.namelist())
        assert [] == [n for n in package_files(wheel) if first.read(n) != second.read(n)]


@pytest.fixture(scope="module")
def installed(source: Path, wheel: Path) -> Path:
    """Interpreter of an environment that has this wheel, and borrows the dependencies (not the checkout) from ours."""
    home = source.parent / "installed"
    venv.create(home, with_pip=False, symlinks=True)
    python = home / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-index", "--no-deps")
    run(*pip, "--no-build-isolation", wheel, cwd=source.parent)
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=source.parent).strip())
    ours = {sysconfig.get_path(name) for name in ("purelib", "platlib")}
    (site / "dependencies.pth").write_text("\n".join(sorted(ours)) + "\n", encoding="utf-8")
    return python


def test_every_module_loads_from_the_installed_wheel(installed: Path, wheel: Path, tmp_path: Path) -> None:
    files = sorted(n for n in package_files(wheel) if n.endswith(".py") and not n.endswith("__main__.py"))
    modules = [n.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for n in files]
    code = (
        f"import importlib\nfor name in {modules!r}:\n"
        f"    file = importlib.import_module(name).__file__\n"
        f"    assert file.startswith({str(installed.parent.parent)!r}), file\n"
        f"    print(name)"
    )
    assert modules == run(installed, "-c", code, cwd=tmp_path).split()


def test_the_command_runs_from_the_installed_wheel(installed: Path, tmp_path: Path) -> None:
    assert "Usage: tricel" in run(installed.parent / "tricel", "--help", cwd=tmp_path)


def test_the_installed_wheel_bundles_itself(installed: Path, wheel: Path, tmp_path: Path) -> None:
    run(installed.parent / "tricel", "bundle", "--out", "tricel-bundle.zip", cwd=tmp_path)
    with zipfile.ZipFile(wheel) as whole, zipfile.ZipFile(tmp_path / "tricel-bundle.zip") as bundle:
        bundled = {name for name in bundle.namelist() if name.startswith("tricel/")}
        assert package_files(wheel) == bundled
        assert [] == [name for name in bundled if whole.read(name) != bundle.read(name)]
