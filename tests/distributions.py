"""What an installation of tricel with some extras has, told by the metadata of what is installed here."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from conftest import REPOSITORY
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]


def required(*extras: str) -> list[Requirement]:
    """What pyproject.toml asks for with these extras."""
    texts = [*PROJECT["dependencies"], *(text for extra in extras for text in EXTRAS[extra])]
    found = []
    for requirement in map(Requirement, texts):
        found += required(*requirement.extras) if requirement.name == "tricel" else [requirement]
    return found


def closure(requirements: Iterable[Requirement]) -> dict[str, metadata.Distribution]:
    """The distributions that these need, with all that those need in turn, by normalised name."""
    found: dict[str, metadata.Distribution] = {}
    left = [(canonicalize_name(r.name), frozenset(r.extras)) for r in requirements]
    seen = set(left)
    while left:
        name, extras = left.pop()
        found[name] = metadata.distribution(name)
        for requirement in map(Requirement, found[name].requires or []):
            marker, wanted = requirement.marker, (canonicalize_name(requirement.name), frozenset(requirement.extras))
            if wanted not in seen and (marker is None or any(marker.evaluate({"extra": e}) for e in {"", *extras})):
                seen.add(wanted)
                left.append(wanted)
    return found


def files_of(distribution: metadata.Distribution) -> dict[str, Path]:
    """Its files below site-packages, compiled ones of Python left out, by their names there."""
    found = {file.as_posix(): Path(str(file.locate())) for file in distribution.files or []}
    return {n: p for n, p in found.items() if not n.startswith("..") and "__pycache__" not in n and p.is_file()}


def link(distributions: Iterable[metadata.Distribution], site: Path) -> int:
    """Makes `site` a site-packages with nothing but these, as links; gives their bytes."""
    size = 0
    for distribution in distributions:
        for name, path in files_of(distribution).items():
            target = site / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists():
                target.symlink_to(path)
                size += path.stat().st_size
    return size
