"""The wheel holds the whole package, comes out the same from an sdist, and works outside the checkout, offline, with all extras and with none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
from conftest import REPOSITORY
from distributions import closure, link, required

SETUPTOOLS = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
FOLDERS: dict[str, str] = SETUPTOOLS["package-dir"]
DATA = {
    "tricel": ["py.typed"],
    "tricel.examples": ["events/*", "triggers/*"],
    "tricel.grammar": ["*.lark"],
    "tricel.k8s": ["deploy/**/*.yaml", "deploy/**/.gitignore"],
}
"""Files beside modules, by package."""


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
        for pattern in (*DATA.get(package, ()), "*.py" if package == "tricel.examples" else "**/*.py")
        for file in (source / folder).glob(pattern)
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


def environment(home: Path, wheel: Path, *extras: str) -> tuple[Path, int]:
    """A new environment with this wheel and what these extras bring, and nothing else: its Python, and its bytes."""
    venv.create(home, with_pip=False, symlinks=True)
    python = home / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-index", "--no-deps")
    run(*pip, "--no-build-isolation", wheel, cwd=home)
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=home).strip())
    ours = sum(file.stat().st_size for file in site.rglob("*.*") if file.suffix != ".pyc")
    return python, ours + link(closure(required(*extras)).values(), site)


@pytest.fixture(scope="module")
def installed(source: Path, wheel: Path) -> Path:
    """The Python of an environment with the wheel and all extras."""
    return environment(source.parent / "installed", wheel, "all")[0]


@pytest.fixture(scope="module")
def core(source: Path, wheel: Path) -> tuple[Path, int]:
    """The Python of an environment with the wheel and no extra, and its bytes."""
    return environment(source.parent / "core", wheel)


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


def test_the_core_reads_checks_compiles_and_evaluates(core: tuple[Path, int], tmp_path: Path) -> None:
    tricel = core[0].parent / "tricel"
    run(tricel, "examples", "begin", cwd=tmp_path)
    assert [] == run(tricel, "lint", "begin/triggers", cwd=tmp_path).splitlines()[1:]
    assert "-- CEL: data.n > 1.0" in run(tricel, "compile", "-e", "data.n > 1.0", cwd=tmp_path)
    events = run(tricel, "eval", "-e", "data.total > 600.0", "--events", "begin/events/orders.jsonl", cwd=tmp_path)
    assert 0 < len(events.splitlines()) < 24
    assert "TRI204" in run(tricel, "rule", "TRI204", cwd=tmp_path)
    assert "kind: CustomResourceDefinition" in run(tricel, "crd", cwd=tmp_path)


def test_the_core_is_small(core: tuple[Path, int]) -> None:
    assert core[1] < 45_000_000


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (["run", "--triggers", ".", "--events", ".", "--out", "out"], "spark"),
        (["bundle", "--out", "bundle.zip"], "spark"),
        (["eval", "-e", "true", "--engine", "cel-python"], "spark"),
        (["webhook", "--certificate", "tls.crt", "--key", "tls.key"], "k8s"),
        (["certs", "folder"], "k8s"),
        (["lint", "--triggers", "cluster"], "k8s"),
    ],
)
def test_a_command_says_which_extra_it_needs(
    arguments: list[str], extra: str, core: tuple[Path, int], tmp_path: Path
) -> None:
    command = [core[0].parent / "tricel", *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env={"PATH": os.environ["PATH"]})
    (*usage, line) = done.stderr.splitlines()
    assert (2, "") == (done.returncode, done.stdout)
    assert line.lower().startswith("error: ")
    assert line.endswith(f"pip install 'tricel[{extra}]'")
    assert len(usage) in (0, 2, 3)


def test_examples_are_written_to_an_empty_folder_only(core: tuple[Path, int], tmp_path: Path) -> None:
    run(core[0].parent / "tricel", "examples", "begin", cwd=tmp_path)
    written = {p.relative_to(tmp_path / "begin").as_posix(): p.read_bytes() for p in tmp_path.rglob("*.yaml")}
    sources = {"triggers": REPOSITORY / "examples" / "triggers", "deploy": REPOSITORY / "k8s" / "deploy"}
    assert written == {
        f"{name}/{p.relative_to(folder).as_posix()}": p.read_bytes()
        for name, folder in sources.items()
        for p in folder.rglob("*.yaml")
    }
    again = subprocess.run([core[0].parent / "tricel", "examples", "begin"], cwd=tmp_path, capture_output=True)
    assert (2, b"error: it is not empty: begin\n") == (again.returncode, again.stderr)


def test_the_installed_wheel_bundles_itself(installed: Path, wheel: Path, tmp_path: Path) -> None:
    run(installed.parent / "tricel", "bundle", "--out", "tricel-bundle.zip", cwd=tmp_path)
    with zipfile.ZipFile(wheel) as whole, zipfile.ZipFile(tmp_path / "tricel-bundle.zip") as bundle:
        bundled = {name for name in bundle.namelist() if name.startswith("tricel/")}
        code = {n for n in package_files(wheel) if n.endswith((".py", ".lark", ".typed"))}
        assert code - {"tricel/examples/__init__.py"} == bundled
        assert [] == [name for name in bundled if whole.read(name) != bundle.read(name)]
