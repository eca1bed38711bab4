"""Jars of Maven Central that tests need, resolved once for all test processes of this user."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

_TIMEOUT = 600
_PROJECT = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>tests</groupId><artifactId>jars</artifactId><version>1</version><dependencies>
{}
</dependencies></project>
"""
_DEPENDENCY = (
    "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version><exclusions>{}</exclusions>"
    "</dependency>"
)
_EXCLUSION = "<exclusion><groupId>{}</groupId><artifactId>{}</artifactId></exclusion>"


@cache
def jars(name: str, artifacts: tuple[str, ...], without: tuple[str, ...] = ()) -> Sequence[Path]:
    """The jars of `artifacts` (group:artifact:version) and of what they need at run time.

    `without` are artifacts (group:artifact) that are left out, with what they need; with the prefix `FROM=` only below
    the artifact `FROM`. They stand in the user's cache folder, under `name`, which tells versions apart. The first
    process asks Maven, and others wait for it. Where they cannot be had, skips the test.
    """
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tricel-tests"
    place = home / name
    if not place.is_dir():
        home.mkdir(parents=True, exist_ok=True)
        with (home / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not place.is_dir():
                _resolve(place, artifacts, without)
    return sorted(place.glob("*.jar"))


def _resolve(place: Path, artifacts: Sequence[str], without: Sequence[str]) -> None:
    """Has Maven copy the jars; `place` is there when all are."""
    maven = shutil.which("mvn")
    if maven is None:
        pytest.skip("there is no Maven on PATH, which brings the jars")
    part = place.with_name(f"{place.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    dependencies = "\n".join(_DEPENDENCY.format(*a.split(":"), _exclusions(a, without)) for a in artifacts)
    (part / "pom.xml").write_text(_PROJECT.format(dependencies))
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={part}", "-DincludeScope=runtime"]
    command = [maven, "-q", "-B", "-f", str(part / "pom.xml"), *goal]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        pytest.skip(f"Maven has not brought the jars within {_TIMEOUT} seconds")
    if done.returncode:
        said = [line for line in done.stdout.splitlines() if "ERROR" in line]
        pytest.skip(f"Maven does not bring the jars: {(said or ['it says nothing'])[0]}")
    (part / "pom.xml").unlink()
    part.rename(place)


def _exclusions(artifact: str, without: Sequence[str]) -> str:
    named = artifact.rpartition(":")[0]
    split = [w.rpartition("=") for w in without]
    return "".join(_EXCLUSION.format(*what.split(":")) for of, _, what in split if of in ("", named))
