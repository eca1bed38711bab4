"""`tricel union`: one expression for each broker, none for a broker with a wrong Trigger."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from filter_sets import trigger_yaml
from tricel.compiler import check_filter
from tricel.compiler.dialects import BY_NAME

from tricel.cli import main
from tricel.cluster_triggers import ClusterChoice


def manifest(name: str, text: str = "", broker: str = "default", namespace: str = "", **spec: Any) -> str:
    """A Trigger as YAML, with a filter in CEL, or with what else is given of its spec."""
    filter_: dict[str, Any] = {"filter": {"expression": text}} if text else {}
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    whole = {"broker": broker, "subscriber": {"uri": "http://s"}, **filter_, **spec}
    return yaml.safe_dump({"apiVersion": "tricel.dev/v1alpha1", "kind": "Trigger", "metadata": metadata, "spec": whole})


def union(*arguments: str, **manifests: str) -> Result:
    """The command over manifests in a folder, for which "." stands."""
    with TemporaryDirectory() as folder:
        for name, text in manifests.items():
            Path(folder, f"{name}.yaml").write_text(text)
        given = [folder if a == "." else a for a in arguments or (".",)]
        return CliRunner().invoke(main, ["union", *given])


def test_one_broker_has_one_expression() -> None:
    done = union(a=trigger_yaml("a", 'ce.type == "a"'), b=trigger_yaml("b", 'ce.type == "b" && data.n > 1.0'))
    assert (0, 'ce.type in ["a", "b"]\n') == (done.exit_code, done.stdout)
    assert "default: 2 triggers, 14 nodes in 6, lets more through" in done.stderr
    assert "left out: b (data.n > 1.0)" in done.stderr


def test_each_broker_has_its_own() -> None:
    given = {
        "a": manifest("a", 'ce.type == "a"', namespace="shop"),
        "b": manifest("b", 'ce.type == "b"', namespace="lab"),
        "c": manifest("c", 'ce.type == "c"', broker="other", namespace="shop"),
    }
    done = union(**given)
    assert 0 == done.exit_code
    expected = '// Broker: lab/default\nce.type == "b"\n// Broker: shop/default\nce.type == "a"\n// Broker: shop/other\nce.type == "c"\n'
    assert expected == done.stdout
    assert 'ce.type == "c"\n' == union(".", "--broker", "other", **given).stdout
    assert 'ce.type == "b"\n' == union(".", "--broker", "lab/default", **given).stdout
    assert 4 == len(union(".", "--broker", "default", **given).stdout.splitlines())
    nobody = union(".", "--broker", "nobody", **given)
    assert (2, True) == (nobody.exit_code, "there are lab/default, shop/default, shop/other" in nobody.stderr)


def test_a_trigger_without_a_filter_is_told() -> None:
    done = union(a=manifest("a"), b=manifest("b", 'ce.type == "b"'))
    assert (0, "true\n") == (done.exit_code, done.stdout)
    assert "every event passes because of a" in done.stderr


def test_a_wrong_filter_withholds_its_broker_alone() -> None:
    done = union(a=manifest("a", "user.id == 1"), b=manifest("b", 'ce.type == "b"', broker="other"))
    assert 1 == done.exit_code
    assert '// Broker: other\nce.type == "b"\n' == done.stdout
    assert "error[TRI201]: unknown name 'user'" in done.stderr
    assert "error[TRI374]: there is no union for the broker 'default': a Trigger of it is wrong" in done.stderr


@pytest.mark.parametrize(
    "broken", ["a: [", manifest("b", 'ce.type == "b"', subscriber={}), manifest("a", "true", "other")], ids=str
)
def test_what_cannot_be_read_may_be_of_any_broker(broken: str) -> None:
    done = union(a=manifest("a", 'ce.type == "a"'), broken=broken)
    assert (1, "") == (done.exit_code, done.stdout)
    assert "error[TRI374]: there is no union for the broker 'default': Triggers may be missing" in done.stderr


def test_json_has_all_of_it() -> None:
    done = union(
        *(".", "--format", "json", "--max-nodes", "6"),
        a=manifest("a", 'ce.type == "ab1" && data.n > 1.0'),
        b=manifest("b", 'ce.type in ["ab2", "ab3"]'),
    )
    (found,) = json.loads(done.stdout)
    assert 'ce.type.startsWith("ab")' == found["filter"] == found["cel"]
    assert ("default", "cel", False, True) == tuple(found[k] for k in ("broker", "dialect", "exact", "widened"))
    assert ({"triggers": 16, "union": 4}, ["a", "b"], []) == (found["nodes"], found["triggers"], found["everything"])
    assert [{"trigger": "a", "without": ["data.n > 1.0"]}] == found["wide"]


TRIGGERS = {
    "a": manifest("a", 'ce.type in ["a", "b"]'),
    "b": manifest("b", 'has(ce.region) && ce.region == "eu" && ce.type.contains("x")'),
    "c": manifest("c", filters=[{"prefix": {"source": "/s"}}, {"not": {"exact": {"tenant": "t"}}}]),
}


def test_another_dialect_says_what_it_can() -> None:
    done = union(".", "--to", "filters", **TRIGGERS)
    assert 0 == done.exit_code, done.output
    found = yaml.safe_load(done.stdout)
    checked, _ = check_filter(found, dialect="filters")
    assert checked is not None
    assert {"exact": {"type": "a"}} in found[0]["any"]
    assert {"exact": {"type": "b"}} in found[0]["any"]
    assert "contains" not in checked.cel
    assert {"exact": {"region": "eu"}} in found[0]["any"]
    assert 'b (ce.type.contains("x"))' in done.stderr


@pytest.mark.parametrize(("dialect", "says"), [("prefix", "cannot say the union"), ("sourceAndType", "does not write")])
def test_what_a_dialect_cannot_say_is_refused(dialect: str, says: str) -> None:
    done = union(".", "--to", dialect, a=manifest("a", 'ce.type == "a"'), b=manifest("b", "false", broker="x"))
    assert (1, True) == (done.exit_code, "error[TRI371]" in done.stderr)
    assert says in done.stderr or BY_NAME[dialect].from_cel is not None
    assert 2 == union(".", "--to", "nothing", a=manifest("a", "true")).exit_code


def test_a_cluster_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    class Fake:
        def read(self, selection: object) -> list[Any]:
            texts = (manifest("a", 'ce.type == "a"', namespace="shop"), manifest("b", "ce.x ==", "other", "shop"))
            return [yaml.safe_load(text) for text in texts]

    monkeypatch.setattr(ClusterChoice, "connect", lambda choice: (Fake(), None))
    done = CliRunner().invoke(main, ["union", "--triggers", "cluster"])
    assert (1, '// Broker: shop/default\nce.type == "a"\n') == (done.exit_code, done.stdout)
    assert "cluster/shop/b" in done.stderr
    assert "there is no union for the broker 'shop/other'" in done.stderr


def test_wrong_options() -> None:
    assert 2 == union(".", "--max-nodes", "0", a=manifest("a", "true")).exit_code
    assert "give either" in CliRunner().invoke(main, ["union"]).output
    assert "give either" in CliRunner().invoke(main, ["union", "x", "--triggers", "cluster"]).output
    assert "TRI607" in union(".", a="{}").output
