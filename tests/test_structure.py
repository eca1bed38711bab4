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
from conftest import LONG, REPOSITORY, conformance
from distributions import EXTRAS, required
from packaging.requirements import Requirement
from packaging.version import Version
from samples import sample

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
FOLDERS: dict[str, str] = PROJECT["tool"]["setuptools"]["package-dir"]
MOST_MODULES = 20
"""Modules in one folder."""
MOST_LINES = 500
"""Lines in one module."""


def packages_in_the_tree() -> dict[str, Path]:
    """Import name -> folder, for every folder below a top-level package that holds Python files."""
    found = {}
    for package, folder in FOLDERS.items():
        for path in (
            [REPOSITORY / folder]
            if package == "tricel.examples"
            else sorted({file.parent for file in (REPOSITORY / folder).rglob("*.py")})
        ):
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
    """All that pyproject.toml asks for, each once."""
    found = {str(r): r for r in required(*EXTRAS)}
    return [found[text] for text in sorted(found)]


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
    files = [
        f
        for name, folder in FOLDERS.items()
        if name not in ("tricel", "tricel.examples")
        for f in (REPOSITORY / folder).rglob("*.py")
    ]
    trees = {file: ast.parse(file.read_text(encoding="utf-8")) for file in files}
    offenders = [str(file) for file, tree in trees.items() for node in ast.walk(tree) if "tricel" in imported(node)]
    assert [] == offenders


def test_no_folder_and_no_module_is_too_large_to_read() -> None:
    folders = packages_in_the_tree()
    crowded = [name for name, path in folders.items() if len(list(path.glob("*.py"))) > MOST_MODULES]
    modules = [file for path in folders.values() for file in path.glob("*.py")]
    long = [str(file) for file in modules if len(file.read_text(encoding="utf-8").splitlines()) > MOST_LINES]
    assert ([], []) == (crowded, long)


def bounds_of(requirement: Requirement) -> str:
    """The bounds of a requirement, the lower one first."""
    return ",".join(sorted((str(s) for s in requirement.specifier), key=lambda s: not s.startswith(">=")))


def test_every_dependency_is_documented_and_no_other() -> None:
    """In the section of each extra that asks for it."""
    page = (REPOSITORY / "docs/dependencies.md").read_text(encoding="utf-8")
    documented: dict[str, list[tuple[str, str]]] = {}
    for section in page.split("\n## ")[1:]:
        (extra,) = re.findall(r"tricel\[(\w+)\]", section.split("\n")[0]) or [""]
        documented.setdefault(extra, []).extend(re.findall(r"^\| (\S+) \| (>=\S+) \| .+ \|$", section, re.MULTILINE))
    declared = {"": PROJECT["project"]["dependencies"], **EXTRAS}
    wanted = {extra: [Requirement(text) for text in texts] for extra, texts in declared.items()}
    assert {e: sorted((r.name, bounds_of(r)) for r in rs if r.name != "tricel") for e, rs in wanted.items()} == {
        extra: sorted(documented.get(extra, [])) for extra in wanted
    }


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


def test_what_is_begun_first_is_there() -> None:
    def lacks(name: str) -> bool:
        file, _, function = name.partition("::")
        path = REPOSITORY / "tests" / file
        return not path.is_file() or f"def {function}" not in path.read_text(encoding="utf-8")

    assert [] == [name for name in LONG if lacks(name)]


def test_the_nightly_run_has_every_slow_test() -> None:
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    nightly = re.findall(r"^night-\w+ +:= -m slow (.+)$", makefile, re.MULTILINE)
    tests = sorted((REPOSITORY / "tests").rglob("test_*.py"))
    slow = [p.relative_to(REPOSITORY).as_posix() for p in tests if f"mark.{'slow'}" in p.read_text(encoding="utf-8")]
    assert slow == sorted(" ".join(nightly).split())


@pytest.mark.parametrize("count", [0, 1, 7, 12])
def test_the_samples_have_all_cases_between_them(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for turn in range(5):
        monkeypatch.setenv("TRICEL_SAMPLE", str(turn))
        found += sample(range(count), 5)
    monkeypatch.setenv("TRICEL_SAMPLE", "all")
    assert list(range(count)) == sorted(found) == sample(range(count), 5)


def test_vectors_are_read_from_the_named_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some.json").write_text('{"cases": [1]}', encoding="utf-8")
    monkeypatch.setenv("TRICEL_CONFORMANCE", str(tmp_path))
    assert conformance("some.json") == {"cases": [1]}


def test_absent_vectors_skip_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRICEL_CONFORMANCE", str(tmp_path))
    with pytest.raises(pytest.skip.Exception, match=r"no test vectors: .*some\.json"):
        conformance("some.json")


def test_no_module_but_the_environments_knows_the_roots_of_an_event() -> None:
    """The record of attributes is what an environment says it is; the dialects that write CloudEvent filters name it."""
    may = ("compiler/environments/", "compiler/dialects/")
    found = []
    for folder in FOLDERS.values():
        for path in sorted((REPOSITORY / folder).rglob("*.py")):
            name = path.relative_to(REPOSITORY).as_posix()
            if name.startswith(may):
                continue
            texts = (
                n.value for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.Constant)
            )
            found += [name for text in texts if text == "ce"]
    assert [] == found
