"""The memory of a program's processes, from /proc."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Peak:
    """The most memory, in MiB, that the processes of one name held at once, by name; what several share counts once."""

    by_name: dict[str, float] = field(default_factory=dict)

    def look(self, root: int) -> None:
        """One look at a process and all below it."""
        found: dict[str, float] = {}
        for pid in [root, *below(root)]:
            try:
                shares = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8")
            except OSError:  # it has ended
                continue
            name = "driver" if pid == root else "JVM" if program(pid) == "java" else "workers"
            size = sum(int(line.split()[1]) for line in shares.splitlines() if line.startswith("Pss:"))
            found[name] = found.get(name, 0.0) + size / 1024
        for name, size in found.items():
            self.by_name[name] = max(size, self.by_name.get(name, 0.0))


def program(pid: int) -> str:
    """What a process runs; empty where it has ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def open_files(pid: int) -> int:
    """How many files a process has open; none where it has ended."""
    try:
        return len(list(Path(f"/proc/{pid}/fd").iterdir()))
    except OSError:
        return 0


def below(root: int) -> list[int]:
    """All processes that a process started, and those that they did; not those that have ended."""
    found = []
    try:
        children = [task.read_text(encoding="utf-8").split() for task in Path(f"/proc/{root}/task").glob("*/children")]
    except OSError:
        return []
    for child in (int(pid) for pids in children for pid in pids):
        found += [child, *below(child)]
    return found
