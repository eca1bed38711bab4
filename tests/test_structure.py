"""The tree is what pyproject.toml and the documents say it is, and imports stay where they belong."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from conftest import REPOSITORY, conformance
from packaging.requirements import Requirement
from packaging.version import Version

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
FOLDERS: dict[str, str] = PROJECT["tool"]["setuptools"]["package-dir"]
SPARK_MODULES = frozenset(
    {
        "causes",
        "columns",
        "delivery",
        "errored",
        "event_texts",
        "events",
        "fallback",
        "fanout",
        "files",
        "outcomes",
        "pair_files",
        "pipeline",
        "progress",
        "frames",
        "session",
        "spellings",
        "streaming",
        "worker",
        "worker_daemon",
    }
)  # of spark_backend: these run Spark, the rest write text


def packages_in_the_tree() -> dict[str, Path]:
    """Import name -> folder, for every folder below a top-level package that holds Python files."""
    found = {}
    for package, folder in FOLDERS.items():
        for path in sorted({file.parent for file in (REPOSITORY / folder).rglob("*.py")}):
            inner = path.relative_to(REPOSITORY / folder).parts
            found[".".join((package, *inner))] = path
    return found


def project_files() -> list[Path]:
    """Every file that is or will be under version control; skips where there is no git repository."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listing = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    if listing.returncode != 0:
        pytest.skip("not a git repository")
    return [path for name in listing.stdout.split("\0") if name and (path := REPOSITORY / name).is_file()]


def run_python(code: str, cwd: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *options, "-c", code], cwd=cwd, capture_output=True, text=True)


def requirements() -> list[Requirement]:
    project = PROJECT["project"]
    return [Requirement(text) for text in (*project["dependencies"], *project["optional-dependencies"]["dev"])]


def test_the_package_list_is_the_tree() -> None:
    assert sorted(packages_in_the_tree()) == sorted(PROJECT["tool"]["setuptools"]["packages"])


def test_every_package_has_an_init() -> None:
    assert [] == [name for name, path in packages_in_the_tree().items() if not (path / "__init__.py").is_file()]


def test_every_package_says_what_it_is() -> None:
    def docstring(path: Path) -> str:
        return ast.get_docstring(ast.parse((path / "__init__.py").read_text(encoding="utf-8"))) or ""

    assert [] == [name for name, path in packages_in_the_tree().items() if len(docstring(path)) < 10]


@pytest.mark.parametrize("module", ["tricel", "tricel.compiler"])
def test_importing_loads_neither_spark_nor_kubernetes(module: str, tmp_path: Path) -> None:
    heavy = {"pyspark", "py4j", "kubernetes", "pandas", "pyarrow", "numpy"}
    done = run_python(f"import sys, {module}; print(*sorted({heavy!r} & set(sys.modules)))", tmp_path)
    assert (0, "") == (done.returncode, done.stdout.strip()), done.stderr


def test_the_face_alone_says_what_to_run(tmp_path: Path) -> None:
    (tmp_path / "tricel").mkdir()
    for file in (REPOSITORY / "tricel").glob("*.py"):
        (tmp_path / "tricel" / file.name).write_bytes(file.read_bytes())
    done = run_python("import tricel", tmp_path, "-S")
    assert done.returncode == 1
    assert re.search(r"^ImportError: .*make demo", done.stderr, re.MULTILINE), done.stderr


def imported(node: ast.AST) -> list[str]:
    """Modules that an import statement names absolutely."""
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=str(module), level=0):
            return [module]
        case _:
            return []


def test_nothing_below_the_face_imports_it() -> None:
    files = [f for name, folder in FOLDERS.items() if name != "tricel" for f in (REPOSITORY / folder).rglob("*.py")]
    trees = {file: ast.parse(file.read_text(encoding="utf-8")) for file in files}
    offenders = [str(file) for file, tree in trees.items() for node in ast.walk(tree) if "tricel" in imported(node)]
    assert [] == offenders


def test_every_module_of_the_spark_backend_writes_text_or_runs_spark() -> None:
    """A new module joins the import contract 'Lowering writes text' in pyproject.toml, or SPARK_MODULES above."""
    folder = REPOSITORY / FOLDERS["tricel.spark_backend"]
    files = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    folders = {path.parent.name for path in folder.glob("*/__init__.py")}
    (contract,) = (c for c in PROJECT["tool"]["importlinter"]["contracts"] if c["name"].startswith("Lowering"))
    listed = {name.removeprefix("tricel.spark_backend.") for name in contract["source_modules"]}
    assert (files | folders) - SPARK_MODULES == listed


def bounds_of(requirement: Requirement) -> str:
    """The bounds of a requirement, the lower one first."""
    return ",".join(sorted((str(s) for s in requirement.specifier), key=lambda s: not s.startswith(">=")))


def test_every_dependency_is_documented_and_no_other() -> None:
    page = (REPOSITORY / "docs/dependencies.md").read_text(encoding="utf-8")
    documented = re.findall(r"^\| (\S+) \| (>=\S+) \| .+ \|$", page, re.MULTILINE)
    assert sorted(documented) == sorted((r.name, bounds_of(r)) for r in requirements())


def test_the_oldest_constraints_are_the_lower_bounds() -> None:
    lines = (REPOSITORY / "tests/constraints/oldest.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    bounds = {r.name: Version(bounds_of(r).split(",")[0].removeprefix(">=")) for r in requirements()}
    assert bounds == {name: Version(pin) for name, pin in pins.items() if name != "numpy"}


def test_nothing_is_left_undone_and_no_machine_is_named() -> None:
    undone = "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X"))
    places = [str(place) for place in (REPOSITORY, REPOSITORY.parent / "shared") if len(place.parts) > 2]
    machine = "|".join(("/(?:home|Users)/[a-z]+", "/root", *map(re.escape, places)))
    pattern = re.compile(rf"\b(?:{undone})\b|(?<![\w.])(?:{machine})(?![\w-])".encode())
    found = []
    for path in project_files():
        for number, line in enumerate(path.read_bytes().splitlines(), start=1):
            if path != Path(__file__) and pattern.search(line):
                found.append(f"{path.relative_to(REPOSITORY)}:{number}")
    assert [] == found


def test_make_lists_every_target() -> None:
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    targets = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert targets is not None
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    shown = subprocess.run(["make"], cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=True).stdout
    listed = {line.split()[0] for line in shown.splitlines() if line.startswith("  ")}
    assert set(targets[1].split()) - {"java"} == listed


def test_vectors_are_read_from_the_named_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some.json").write_text('{"cases": [1]}', encoding="utf-8")
    monkeypatch.setenv("TRICEL_CONFORMANCE", str(tmp_path))
    assert conformance("some.json") == {"cases": [1]}


def test_absent_vectors_skip_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRICEL_CONFORMANCE", str(tmp_path))
    with pytest.raises(pytest.skip.Exception, match=r"no test vectors: .*some\.json"):
        conformance("some.json")
