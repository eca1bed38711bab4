"""Files that are edited: what would change, as a patch, and the change itself."""

from __future__ import annotations

import difflib
import os
import tempfile
from contextlib import suppress
from pathlib import Path

_CONTEXT = 3


def patch(name: str, before: str, after: str) -> str:
    """The change of a text as a unified diff, which `patch -p1` and `git apply` take; empty where there is none.

    A file with an absolute path has that path in it, as it is.
    """
    if before == after:
        return ""
    old, new = (name, name) if Path(name).is_absolute() else (f"a/{name}", f"b/{name}")
    lines = difflib.unified_diff(_lines(before), _lines(after), old, new, n=_CONTEXT)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str) -> list[str]:
    """The lines as diff and patch count them: a lone `\\r`, or U+2028, ends none."""
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + lines[-1:] * bool(lines[-1])


def write_in_place(file: Path, before: bytes, after: bytes) -> None:
    """Writes a file's new content at once: whoever reads it finds the old one or the new one, whole.

    Of a link it is the file that the link leads to. Its mode stays, and its owner where the system lets us.

    Raises:
        OSError: where it cannot be written, or no longer has the content `before`. The file is then as it was.
    """
    target = Path(os.path.realpath(file))
    status = target.stat()
    if not os.access(target, os.W_OK):
        raise PermissionError(13, "the file is not writable", str(file))
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as new:
            new.write(after)
            new.flush()
            os.fsync(new.fileno())
            if hasattr(os, "fchown"):
                with suppress(PermissionError):
                    os.fchown(new.fileno(), status.st_uid, status.st_gid)
        Path(name).chmod(status.st_mode & 0o7777)
        if target.read_bytes() != before:
            raise OSError(0, "the file has changed meanwhile: convert it again", str(file))
        os.replace(name, target)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
