"""Which files of a folder are read, in which order their problems are told, and that no silence hides a missing one."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from filter_sets import trigger_yaml
from tricel.compiler.dialects import DIALECTS
from tricel.spark_backend.storage.links import below

from tricel import load_triggers
from tricel.cli import main
from tricel.manifest_files import find


def lint(*arguments: str | Path, given: bytes | None = None) -> Result:
    result = CliRunner().invoke(main, ["lint", "--format", "concise", *map(str, arguments)], input=given)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def names(folder: Path, *, ignoring: bool = False) -> list[str]:
    return [file.relative_to(folder).as_posix() for file in find(folder, ignoring=ignoring).files]


def write(path: Path, text: str = "", name: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text or trigger_yaml(name or path.stem, "true"))
    return path


# What git ignores.


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    for file in (
        ".git/x.yaml",
        "a.yaml",
        "build/b.yaml",
        "deep/c.yaml",
        "deep/gen/d.yaml",
        "deep/e.gen.yaml",
        "deep/f.gen.yaml",
    ):
        write(tmp_path / file)
    (tmp_path / ".gitignore").write_text("build/\n# a comment\n*.gen.yaml\n")
    (tmp_path / "deep/.gitignore").write_text("/gen\n!f.gen.yaml\n")
    return tmp_path


def test_lint_leaves_out_what_git_ignores(repository: Path) -> None:
    assert ["a.yaml", "deep/c.yaml", "deep/f.gen.yaml"] == names(repository, ignoring=True)
    whole = ["a.yaml", "build/b.yaml", "deep/c.yaml", "deep/e.gen.yaml", "deep/f.gen.yaml", "deep/gen/d.yaml"]
    assert whole == names(repository)
    write(repository / "build/wrong.yaml", "a: [")
    assert 0 == lint(repository).exit_code
    assert 1 == CliRunner().invoke(main, ["compile", str(repository)]).exit_code


def test_what_is_named_is_read(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(repository / "build/wrong.yaml", "a: [")
    assert "wrong.yaml:1:5: error[TRI301]" in lint(repository / "build/wrong.yaml").output
    assert ["b.yaml", "wrong.yaml"] == names(repository / "build", ignoring=True)
    # A folder below heeds what stands above it in the repository, from wherever it is asked.
    assert ["c.yaml", "f.gen.yaml"] == names(repository / "deep", ignoring=True)
    monkeypatch.chdir(repository / "deep")
    assert ["c.yaml", "f.gen.yaml"] == names(Path("."), ignoring=True)


def test_without_a_repository_only_the_folder_itself_counts(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*.yaml\n")
    write(tmp_path / "sub/a.yaml")
    assert ["a.yaml"] == names(tmp_path / "sub", ignoring=True)
    assert [] == names(tmp_path, ignoring=True)


# Links.


def test_a_loop_is_named_and_each_file_is_read_once(tmp_path: Path) -> None:
    write(tmp_path / "a.yaml")
    write(tmp_path / "sub/b.yaml")
    (tmp_path / "sub/again").symlink_to(tmp_path)
    (tmp_path / "sub/self").symlink_to("self")
    (tmp_path / "b-again.yaml").symlink_to("sub/b.yaml")
    (tmp_path / "to-sub").symlink_to("sub")
    found = find(tmp_path)
    assert ["a.yaml", "sub/b.yaml"] == names(tmp_path)
    assert 2 == len(found.files) == len({file.resolve() for file in found.files})
    assert [str(tmp_path / "sub/again")] == [d.source.name for d in found.warnings]
    result = lint(tmp_path)
    assert 0 == result.exit_code, result.output
    assert "sub/again" in result.output
    assert "warning[TRI307]: the link to" in result.output
    assert 1 == lint("--strict", tmp_path).exit_code


def test_what_is_there_itself_comes_before_links_to_it(tmp_path: Path) -> None:
    write(tmp_path / "z/deep/a.yaml")
    (tmp_path / "a").mkdir()
    (tmp_path / "a/link").symlink_to(tmp_path / "z/deep")
    (tmp_path / "a/a.yaml").symlink_to(tmp_path / "z/deep/a.yaml")
    assert ["z/deep/a.yaml"] == names(tmp_path)
    assert () == find(tmp_path).warnings


def test_a_link_that_leads_above_the_folder_ends(tmp_path: Path) -> None:
    write(tmp_path / "a.yaml")
    write(tmp_path / "triggers/b.yaml")
    (tmp_path / "triggers/up").symlink_to(tmp_path)
    assert ["b.yaml", "up/a.yaml"] == names(tmp_path / "triggers")


def test_a_circle_of_two_links_is_named(tmp_path: Path) -> None:
    write(tmp_path / "triggers/a.yaml")
    write(tmp_path / "elsewhere/b.yaml")
    (tmp_path / "triggers/out").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere/in").symlink_to(tmp_path / "triggers")
    assert ["a.yaml", "out/b.yaml"] == names(tmp_path / "triggers")
    assert [str(tmp_path / "triggers/out/in")] == [d.source.name for d in find(tmp_path / "triggers").warnings]


def test_a_folder_that_cannot_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Trigger that nobody looked at is not taken for one that is not there; events are looked for in the rest."""
    write(tmp_path / "a.yaml")
    write(tmp_path / "closed/b.yaml")
    scan = os.scandir

    def refused(path: str) -> object:
        if path.endswith("closed"):  # by permissions nothing is closed to root
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", refused)
    result = lint(tmp_path)
    assert (2, f"error: Permission denied: {tmp_path / 'closed'}\n") == (result.exit_code, result.output)
    assert [str(tmp_path / "a.yaml")] == below(tmp_path).files


def test_a_folder_elsewhere_is_followed(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere/a.yaml")
    (tmp_path / "triggers").mkdir()
    (tmp_path / "triggers/linked").symlink_to(tmp_path / "elsewhere")
    assert ["linked/a.yaml"] == names(tmp_path / "triggers")


def test_a_manifest_that_leads_nowhere_is_named(tmp_path: Path) -> None:
    (tmp_path / "gone.yaml").symlink_to("was-here.yaml")
    (tmp_path / "self.yaml").symlink_to("self.yaml")
    found = find(tmp_path)
    assert ((), ["TRI307"] * 2) == (found.files, [d.code for d in found.warnings])


def test_a_mounted_config_map_is_read_once(tmp_path: Path) -> None:
    write(tmp_path / "..2024_01_01/a.yaml")
    (tmp_path / "..data").symlink_to("..2024_01_01")
    (tmp_path / "a.yaml").symlink_to("..data/a.yaml")
    assert ["a.yaml"] == names(tmp_path)
    assert () == find(tmp_path).warnings


# Bytes.


@pytest.mark.parametrize(
    ("content", "place", "byte", "help_"),
    [
        (b"a: 1\nb: \xc3\xa9 caf\xe9\n", "2:9", "E9", "save the file as UTF-8"),
        (b"\xef\xbb\xbfa: \xff", "1:4", "FF", "save the file as UTF-8"),
        ("kind: Trigger\n".encode("utf-16"), "1:1", "FF", "this looks like UTF-16"),
        (b"a: \xed\xa0\x80", "1:4", "ED", "save the file as UTF-8"),
        (b"a: \xe2\x82", "1:4", "E2", "save the file as UTF-8"),
    ],
)
def test_what_is_not_utf8_has_its_place(content: bytes, place: str, byte: str, help_: str, tmp_path: Path) -> None:
    file = tmp_path / "t.yaml"
    file.write_bytes(content)
    for result, name in ((lint(file), str(file)), (lint("-", given=content), "<stdin>")):
        assert 1 == result.exit_code
        assert result.output.startswith(f"{name}:{place}: error[TRI306]: not UTF-8: byte 0x{byte}"), result.output
    shown = CliRunner().invoke(main, ["lint", str(file)]).output
    assert help_ in shown
    assert " ^" in shown


def test_no_replaced_character_is_compared(tmp_path: Path) -> None:
    text = trigger_yaml("a", 'ce.type == "caf?"').encode().replace(b"caf?", b"caf\xe9")
    (tmp_path / "a.yaml").write_bytes(text)
    result = lint(tmp_path)
    assert ["TRI306"] == re.findall("TRI[0-9]+", result.output)
    # The character itself, in UTF-8, is one like any other.
    (tmp_path / "a.yaml").write_bytes(text.replace(b"caf\xe9", "caf\ufffd".encode()))
    assert 0 == lint(tmp_path).exit_code


# Nothing found, and the order of what is.


def test_no_trigger_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    write(tmp_path / "other/map.yaml", "kind: ConfigMap\napiVersion: v1\n")
    write(tmp_path / "near/t.yaml", "---\n" + trigger_yaml("t", "true").replace("kind: Trigger", "kind: trigger"))
    for folder in ("empty", "other", "near"):
        for strict, status in (((), 0), (("--strict",), 1)):
            result = lint(*strict, tmp_path / folder)
            assert (status, True) == (result.exit_code, "TRI607" in result.output), (folder, result.output)
    assert "t.yaml:3:7: warning[TRI348]: kind 'trigger' is not read" in lint(tmp_path / "near").output
    assert "TRI607" not in lint("-e", "true").output


def test_findings_come_in_the_order_of_the_files(tmp_path: Path) -> None:
    wrong = trigger_yaml("NAME", "ce.type.startWith('x')") + "  subscribr: {}\n"
    both = f"{wrong.replace('NAME', 'one')}---\n{wrong.replace('NAME', 'two')}"
    for file in ("b.yaml", "a.yaml", "c/a.yaml"):
        write(tmp_path / file, both.replace("name: ", f"name: {file[0]}-"))
    (tmp_path / "a.json").write_text(json.dumps({"kind": "trigger", "apiVersion": "tricel.dev/v1alpha1"}))
    result = lint("-", tmp_path / "c", tmp_path, given=b"a: [")
    found = re.findall(r"^(?:.*/)?(.+?):(\d+):(\d+): .*\[(TRI\d+)\]", result.output, re.MULTILINE)
    order = ["<stdin>", "a.yaml", "a.json", "a.yaml", "b.yaml"]
    assert order == [file for n, (file, *_) in enumerate(found) if n == 0 or file != found[n - 1][0]]
    first = [(int(line), code) for file, line, _, code in found if file == "b.yaml"]
    assert ["TRI203", "TRI308", "TRI203", "TRI308"] == [code for _, code in first]
    assert sorted(first) == first


def test_for_knative_an_expression_is_an_error(tmp_path: Path) -> None:
    text = trigger_yaml("t", "true").replace("tricel.dev/v1alpha1", "eventing.knative.dev/v1")
    file = write(tmp_path / "t.yaml", text)
    assert (0, True) == ((found := lint(file)).exit_code, "6:12: warning[TRI344]" in found.output), found.output
    assert (1, True) == ((found := lint("--target", "knative", file)).exit_code, "error[TRI345]" in found.output)
    done = CliRunner().invoke(main, ["compile", "--target", "knative", str(file)])
    assert (1, True) == (done.exit_code, "error[TRI345]" in done.output)
    for arguments in (["-e", "true"], ["--triggers", "cluster"]):
        assert 2 == lint("--target", "knative", *arguments).exit_code


# Files that are one filter.


def codes(folder: Path | str, *options: str) -> list[tuple[str, str]]:
    """The codes of what is found, with the file, the line and the column."""
    found = lint(*options, folder).stdout
    return [(m[2], Path(m[1]).name) for m in re.finditer(r"^(\S+:\d+:\d+): \w+\[(TRI\d+)\]", found, re.MULTILINE)]


def test_files_of_filters_are_read_beside_manifests_by_their_suffix(tmp_path: Path) -> None:
    write(tmp_path / "a.yaml")
    write(tmp_path / "deep/large-orders.cel", 'ce.type == "order"\n  && data.total > 100.0 // the large ones\n')
    write(tmp_path / "deep/canaries.labels", "env in (prod),\n  !stable\n")
    write(tmp_path / "notes.txt", "not a filter")
    assert ["a.yaml", "deep/canaries.labels", "deep/large-orders.cel"] == names(tmp_path)
    triggers = {each.id: each.compiled.cel for each in load_triggers(tmp_path)}
    assert {
        "a": "true",
        "large-orders": 'ce.type == "order" && data.total > 100.0',
        "canaries": 'has(ce.env) && ce.env == "prod" && !has(ce.stable)',
    } == triggers


def test_what_is_wrong_in_a_file_of_a_filter_has_its_place(tmp_path: Path) -> None:
    write(tmp_path / "a.cel", 'ce.type == "order" &&\n  user.id == 1')
    write(tmp_path / "b.labels", "env in (prod)\n  canary")
    write(tmp_path / "c.cesql", "type ==== 5")
    (tmp_path / "d.cel").write_bytes(b'ce.type == "\xff"')
    (tmp_path / "e.cel").write_bytes(b"\xef\xbb\xbfuser.id == 1")
    (tmp_path / "f.cel").write_text("")
    found = dict(reversed([(name.partition(":")[0], (code, name)) for code, name in codes(tmp_path)]))
    assert ("TRI201", "a.cel:2:3") == found["a.cel"]
    assert ("TRI349", "b.labels:2:3") == found["b.labels"]
    assert found["c.cesql"][0].startswith("TRI")
    assert ("TRI306", "d.cel:1:13") == found["d.cel"]
    assert ("TRI201", "e.cel:1:1") == found["e.cel"]
    assert found["f.cel"][0] == "TRI101"


def test_two_files_of_filters_have_two_names(tmp_path: Path) -> None:
    write(tmp_path / "orders.cel", "true")
    write(tmp_path / "x/orders.labels", "a=b")
    assert [("TRI316", "orders.labels:1:1")] == codes(tmp_path)
    assert "is already defined in" in lint(tmp_path).stdout


def test_a_dialect_says_what_every_file_is(tmp_path: Path) -> None:
    write(tmp_path / "a.cel", "x=y")
    write(tmp_path / "b.labels", "p=q")
    write(
        tmp_path / "c.json",
        '{"types": ["t"], "filters": [{"suffix": {"subject": ".png"}}], "sink": "https://example.com"}',
    )
    write(tmp_path / "d.yaml")
    (one,) = load_triggers(tmp_path / "a.cel", dialect="labels")
    assert ("a", 'has(ce.x) && ce.x == "y"') == (one.id, one.compiled.cel)
    (one,) = load_triggers(tmp_path / "c.json", dialect="subscriptions")
    assert 'ce.type == "t" && has(ce.subject) && ce.subject.endsWith(".png")' == one.compiled.cel
    (one,) = load_triggers(tmp_path, dialect="labels")
    assert "b" == one.id
    assert () == load_triggers(tmp_path, dialect="subscriptions")
    with pytest.raises(ValueError, match="no dialect 'label': did you mean 'labels'"):
        load_triggers(tmp_path, dialect="label")
    assert 1 == lint("--dialect", "labels", tmp_path / "d.yaml").exit_code
    assert 0 == lint("--dialect", "labels", "-", given=b"env=prod").exit_code
    assert [("TRI349", "<stdin>:1:3")] == [
        (m[2], m[1])
        for m in re.finditer(r"^(\S+): \w+\[(\w+)\]", lint("--dialect", "labels", "-", given=b"a b").stdout)
    ]


def test_the_limits_of_a_filter_hold_in_a_file(tmp_path: Path) -> None:
    write(tmp_path / "a.cel", f"ce.id == '{'a' * 60}'")
    assert [("TRI102", "a.cel:1:1")] == [(c, n) for c, n in codes(tmp_path, "--limit", "text=50")]
    assert [] == codes(tmp_path)


def test_a_suffix_is_that_of_one_dialect_whose_filters_are_text() -> None:
    with_suffix = [row for row in DIALECTS if row.suffix]
    assert {".cel": "cel", ".cesql": "cesql", ".labels": "labels"} == {row.suffix: row.name for row in with_suffix}
    assert all(row.text and re.fullmatch(r"\.[a-z]+", row.suffix) for row in with_suffix)
