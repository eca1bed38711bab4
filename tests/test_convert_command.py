"""`tricel convert`: what it prints, what it writes, and how it ends."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from tricel.cli import main
from tricel.file_edits import patch, write_in_place

OLD, NEW = "filter: {attributes: {type: a}}", "filter: {expression: ce.type == \"a\"}"  # fmt: skip


def tricel(*arguments: str, given: str | bytes | None = None) -> Result:
    return CliRunner().invoke(main, ["convert", *arguments], input=given)


def manifest(filter_: str = OLD, group: str = "tricel.dev/v1alpha1") -> str:
    return f"""apiVersion: {group}
kind: Trigger
metadata: {{name: orders}}  # who
spec:
  broker: default
  {filter_}  # what
  subscriber: {{uri: http://s}}
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("t.yaml")
    path.write_text(manifest())
    return path


@pytest.mark.parametrize(
    ("arguments", "given", "status", "printed"),
    [
        (["--to", "cel", "--dialect", "labels", "-e", "env in (a, b), !c"], None, 0, 'has(ce.env) && ce.env in ["a", "b"] && !has(ce.c)\n'),
        (["--to", "attributes", "-e", 'ce.type == "a"'], None, 0, "type: a\n"),
        (["--to", "attributes", "-e", "true"], None, 0, "{}\n"),
        (["--to", "filters", "-e", 'ce.type == "5" || ce.id == "x"'], None, 0, '- any:\n    - exact:\n        type: "5"\n    - exact:\n        id: x\n'),
        (["--to", "labels", "--dialect", "attributes", "-e", "{type: a}"], None, 0, "type=a\n"),
        (["--to", "attributes", "--dialect", "sourceAndType", "-e", "{type: a}"], None, 0, "type: a\n"),
        (["--to", "simplest", "-e", 'ce.type.startsWith("a")'], None, 0, "type: a\n"),
        (["--to", "cel", "--dialect", "labels", "-"], "a=b\n", 0, 'has(ce.a) && ce.a == "b"\n'),
        (["--to", "attributes", "-e", "data.x == 1.0"], None, 1, ""),
        (["--to", "cel", "--dialect", "labels", "-e", "a b"], None, 1, ""),
        (["--to", "cel", "-"], manifest(NEW), 0, ""),
        (["--to", "cel", "--write", "-"], manifest(), 0, manifest(NEW)),
        (["--to", "cel", "--write", "-"], manifest(NEW), 0, manifest(NEW)),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_printed(arguments: list[str], given: str | None, status: int, printed: str) -> None:
    result = tricel(*arguments, given=given)
    assert (status, printed) == (result.exit_code, result.stdout), result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-e", "true"], "Missing option '--to'"),
        (["--to", "cel"], "give either paths, or -e with a filter"),
        (["--to", "cel", "-e", "true", "x.yaml"], "give either paths"),
        (["--to", "atributes", "-e", "true"], "did you mean 'attributes'"),
        (["--to", "sourceAndType", "-e", "true"], "write 'attributes'"),
        (["--to", "labels", "x.yaml"], "'labels' has no place in a Trigger"),
        (["--to", "cel", "--write", "-e", "true"], "--write is about manifests"),
        (["--to", "cel", "no-such-file"], "No such file"),
    ],
    ids=str,
)
def test_what_cannot_be_asked(arguments: list[str], says: str) -> None:
    result = tricel(*arguments)
    assert (2, "") == (result.exit_code, result.stdout)
    assert says in result.stderr


def test_the_simplest_dialect_is_named() -> None:
    assert "dialect: prefix\n" == tricel("--to", "simplest", "-e", 'ce.type.startsWith("a")').stderr


def test_the_change_is_shown_as_a_patch_that_can_be_applied(file: Path) -> None:
    shown = tricel("--to", "cel", "t.yaml")
    assert (1, manifest()) == (shown.exit_code, file.read_text())
    assert "1 filters to convert in 1 files, 0 left as they are\n" == shown.stderr
    assert "--- a/t.yaml\n+++ b/t.yaml\n@@ -3,5 +3,5 @@\n" in shown.stdout
    subprocess.run(["git", "apply", "-"], input=shown.stdout, text=True, check=True)
    assert manifest(NEW) == file.read_text()
    assert (0, "") == ((again := tricel("--to", "cel", "t.yaml")).exit_code, again.stdout)


def test_a_patch_of_other_line_ends_and_without_the_last(file: Path) -> None:
    before = manifest().replace("\n", "\r\n").rstrip()
    file.write_bytes(before.encode())
    shown = tricel("--to", "cel", "t.yaml").stdout_bytes
    assert b"\\ No newline at end of file" in shown
    subprocess.run(["git", "apply", "-"], input=shown, check=True)
    assert manifest(NEW).replace("\n", "\r\n").rstrip().encode() == file.read_bytes()
    assert "" == patch("t", "a\n", "a\n")


def test_a_written_file_keeps_its_mode_and_what_it_begins_with(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbf" + manifest().replace("\n", "\r\n").encode())
    file.chmod(0o640)
    assert 0 == tricel("--to", "cel", "--write", "t.yaml").exit_code
    assert b"\xef\xbb\xbf" + manifest(NEW).replace("\n", "\r\n").encode() == file.read_bytes()
    assert 0o640 == stat.S_IMODE(file.stat().st_mode)
    assert [file] == list(Path().iterdir())


def test_the_file_that_a_link_leads_to_is_written(file: Path) -> None:
    Path("real").mkdir()
    file.rename("real/t.yaml")
    file.symlink_to("real/t.yaml")
    assert 0 == tricel("--to", "cel", "--write", "t.yaml").exit_code
    assert file.is_symlink()
    assert manifest(NEW) == Path("real/t.yaml").read_text()


def test_a_file_without_a_change_is_not_touched(file: Path) -> None:
    file.write_text(manifest(NEW))
    before = file.stat()
    for _ in range(2):
        assert 0 == tricel("--to", "cel", "--write", "t.yaml").exit_code
    after = file.stat()
    assert (before.st_ino, before.st_mtime_ns, before.st_ctime_ns) == (
        after.st_ino,
        after.st_mtime_ns,
        after.st_ctime_ns,
    )


def test_writing_twice_is_writing_once(file: Path) -> None:
    for to in ("cel", "filters", "attributes", "all", "simplest"):
        assert 0 == tricel("--to", to, "--write", "t.yaml").exit_code
        once = (file.read_bytes(), file.stat().st_ino)
        assert 0 == tricel("--to", to, "--write", "t.yaml").exit_code
        assert once == (file.read_bytes(), file.stat().st_ino)
    assert {"attributes": {"type": "a"}} == yaml.safe_load(file.read_text())["spec"][
        "filter"
    ] or "filters" in file.read_text()


def test_a_file_that_has_changed_meanwhile_stays(file: Path) -> None:
    with pytest.raises(OSError, match="changed meanwhile"):
        write_in_place(file, b"something else", b"new")
    assert manifest() == file.read_text()
    assert [file] == list(Path().iterdir())


def test_a_file_that_is_not_to_be_written_stays(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    result = tricel("--to", "cel", "--write", "t.yaml")
    assert (2, manifest()) == (result.exit_code, file.read_text())
    assert "not writable: t.yaml" in result.stderr


def test_what_cannot_be_converted_is_told_of_all_files_and_the_rest_is_done(file: Path) -> None:
    Path("u.yaml").write_text(manifest("filter: {expression: 'data.total > 5.0'}"))
    Path("v.yaml").write_text(manifest("filter: {expression: 'ce.typ() == 1'}"))
    Path("w.yaml").write_text(manifest("filter: {expression: 'ce.type == \"a\"'}"))
    Path("x.yaml").write_text("a: [")
    shown = tricel("--to", "filters", ".")
    assert 1 == shown.exit_code
    assert ["t.yaml", "w.yaml"] == [line[6:] for line in shown.stdout.splitlines() if line.startswith("+++ ")]
    for code, place in (("TRI371", "u.yaml:6:25"), ("TRI203", "v.yaml:6:"), ("TRI301", "x.yaml:1:")):
        assert f"[{code}]" in shown.stderr
        assert f"--> {place}" in shown.stderr
    assert "filters cannot say 'data.total > 5.0'" in shown.stderr
    assert "2 filters to convert in 2 files, 2 left as they are" in shown.stderr
    written = tricel("--to", "filters", "--write", ".")
    assert (1, "") == (written.exit_code, written.stdout)
    assert manifest("filters: [{exact: {type: a}}]") == file.read_text()
    assert "a: [" == Path("x.yaml").read_text()


def test_a_trigger_of_knative_is_refused_with_what_to_write(file: Path) -> None:
    file.write_text(manifest(group="eventing.knative.dev/v1"))
    result = tricel("--to", "cel", "--write", "t.yaml")
    assert (1, manifest(group="eventing.knative.dev/v1")) == (result.exit_code, file.read_text())
    assert "TRI373" in result.stderr
    assert "tricel.dev/expression" in result.stderr


def test_a_folder_without_triggers_is_told(file: Path) -> None:
    file.write_text("kind: ConfigMap\n")
    result = tricel("--to", "cel", ".")
    assert 0 == result.exit_code
    assert "TRI607" in result.stderr


def test_a_fault_writes_nothing(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "tricel.compiler.conversion.manifests.applied", lambda text, edits: text.replace("type: a", "type: b")
    )
    result = tricel("--to", "cel", "--write", "t.yaml")
    assert (2, manifest()) == (result.exit_code, file.read_text())
    assert "TRI901" in result.stderr
