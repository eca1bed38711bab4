"""How much memory a process uses of its own, and a bound for it. Where the system does not say, there is none."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import resource
from pathlib import Path

_STATM = Path("/proc/self/statm")
_DATA = 5


def used() -> int:
    """Bytes of data that the process holds; 0 where the system does not say."""
    try:
        return int(_STATM.read_text().split()[_DATA]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def bound(begin: int, more: int) -> None:
    """Lets the process hold so many bytes more than at its beginning; what it asks for beyond is a MemoryError."""
    if not begin:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = begin + more
    resource.setrlimit(resource.RLIMIT_DATA, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def give_back() -> None:
    """Gives the system what is free; without this the C library keeps it for later, where it can."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
