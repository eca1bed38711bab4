"""The webhook through real HTTPS: every vector, hostile requests, rotation and the end under load."""

from __future__ import annotations

import gzip
import http.client
import json
import os
import random
import signal
import socket
import ssl
import threading
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from admission_vectors import HOSTILE, SOUND, admission_review, expression, features_of, published, trigger
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families
from tricel.k8s.certificates import make_authority, make_certificate, write_certificates, write_pair
from tricel.k8s.review import NotAReviewError, review
from tricel.k8s.tls import RotatingCertificate
from webhook_process import HOST, JSON_HEADERS, WebhookProcess

GOOD = admission_review(expression('ce.type == "order.created"'))
BAD = admission_review(expression('ce.type.startWith("secret-word")'))
SLOW = admission_review(expression(" && ".join(f"data.f{n} == 'value {n}'" for n in range(2500))))


@pytest.fixture(scope="module")
def webhook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebhookProcess]:
    options = ("--drain", "0", "--body-timeout", "1", "--idle-timeout", "2", "--max-body", "300000")
    process = WebhookProcess(tmp_path_factory.mktemp("webhook"), *options)
    yield process
    assert 0 == process.stop()


def counted(webhook: WebhookProcess, name: str) -> Counter[tuple[str, ...]]:
    """The values of one metric by its labels' values."""
    _, text = webhook.ask("/metrics")
    found: Counter[tuple[str, ...]] = Counter()
    for family in text_string_to_metric_families(text.decode()):
        for sample in family.samples:
            if sample.name == name:
                found[tuple(sorted(sample.labels.values()))] += int(sample.value)
    return found


def test_every_vector_over_https(webhook: WebhookProcess) -> None:
    asked = [
        (admission_review(c["trigger"], old=c.get("old_trigger")), c["allowed"])
        for c in published()
        if not features_of(c)
    ]
    asked += [(admission_review(value), False) for name, _, value in HOSTILE if len(json.dumps(value)) < 290_000]
    asked += [(admission_review(value), True) for _, value in SOUND]
    assert len(asked) > 90
    for body, allowed in asked:
        found = webhook.review(body)
        assert (body["request"]["uid"], allowed) == (found["uid"], found["allowed"]), found


def test_features_are_a_choice_of_the_server(tmp_path: Path) -> None:
    case = next(c for c in published() if c["name"] == "BrokerRef has different namespace")
    process = WebhookProcess(tmp_path, "--drain", "0", "--feature", "cross-namespace-event-links")
    try:
        assert process.review(admission_review(case["trigger"]))["allowed"] is True
    finally:
        assert 0 == process.stop()


def test_limits_are_a_choice_of_the_server(tmp_path: Path) -> None:
    body = admission_review(expression("data.lines.exists(l, l.price > 10.0)"))
    process = WebhookProcess(tmp_path, "--drain", "0", "--limit", "cost=1000")
    try:
        found = process.review(body)
        assert found["allowed"] is False
        assert "TRI210" in found["status"]["message"]
    finally:
        assert 0 == process.stop()


def test_the_mutating_path(webhook: WebhookProcess) -> None:
    old = trigger({"filter": {"sourceAndType": {"type": "t"}}})
    assert webhook.review(admission_review(old), "/mutate")["patchType"] == "JSONPatch"
    assert webhook.review(BAD, "/mutate")["allowed"] is True


def test_health(webhook: WebhookProcess) -> None:
    assert [(200, b"ok\n")] * 2 == [webhook.ask(path) for path in ("/healthz", "/readyz")]


def deep(levels: int) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels


@pytest.mark.parametrize(
    ("status", "body", "headers"),
    [
        (400, b"", JSON_HEADERS),
        (400, b"{", JSON_HEADERS),
        (400, b"\xff\xfe", JSON_HEADERS),
        (400, b"null", JSON_HEADERS),
        (400, deep(40_000), JSON_HEADERS),
        (400, b"[" * 200_000, JSON_HEADERS),
        (400, b"1" * 10_000, JSON_HEADERS),
        (400, json.dumps({**GOOD, "apiVersion": "admission.k8s.io/v1beta1"}).encode(), JSON_HEADERS),
        (400, json.dumps({**GOOD, "kind": "Trigger"}).encode(), JSON_HEADERS),
        (400, json.dumps(trigger()).encode(), JSON_HEADERS),
        (413, b" " * 300_001, JSON_HEADERS),
        (415, json.dumps(GOOD).encode(), {"Content-Type": "application/yaml"}),
        (415, json.dumps(GOOD).encode(), {}),
        (415, gzip.compress(json.dumps(GOOD).encode()), {**JSON_HEADERS, "Content-Encoding": "gzip"}),
    ],
)
@pytest.mark.parametrize("path", ["/validate", "/mutate"])
def test_what_is_no_review(
    webhook: WebhookProcess, path: str, status: int, body: bytes, headers: dict[str, str]
) -> None:
    assert status == webhook.ask(path, body, headers=headers)[0]


def test_other_methods_and_paths(webhook: WebhookProcess) -> None:
    assert 405 == webhook.ask("/validate")[0]
    assert 405 == webhook.ask("/metrics", b"{}")[0]
    assert 404 == webhook.ask("/", GOOD)[0]
    assert 404 == webhook.ask("/validate/..%2f", GOOD)[0]


def raw(webhook: WebhookProcess, *parts: bytes, pause: float = 0, shut: bool = False) -> bytes:
    """What comes back for bytes that are sent in parts."""
    with (
        socket.create_connection((HOST, webhook.port), 10) as plain,
        webhook.trust().wrap_socket(plain, server_hostname=HOST) as connection,
    ):
        try:
            for part in parts:
                connection.sendall(part)
                time.sleep(pause)
            if shut:
                connection.unwrap()
                return b""
            found = b""
            while chunk := connection.recv(65536):
                found += chunk
        except (ConnectionError, ssl.SSLError):
            return b""
        return found


HEAD = b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


def test_a_chunked_body_that_is_too_large(webhook: WebhookProcess) -> None:
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    assert b" 413 " in raw(webhook, HEAD + b"Transfer-Encoding: chunked\r\n\r\n", *[chunk] * 5, b"0\r\n\r\n")[:20]


def test_a_slow_body_ends_with_408(webhook: WebhookProcess) -> None:
    begin = time.monotonic()
    assert raw(webhook, HEAD + b"Content-Length: 100\r\n\r\n{").startswith(b"HTTP/1.1 408 ")
    assert time.monotonic() - begin < 5


def test_a_slow_head_is_hung_up_on(webhook: WebhookProcess) -> None:
    begin = time.monotonic()
    found = raw(webhook, *[bytes([c]) for c in HEAD[:20]], pause=0.2)
    assert b" 200 " not in found
    assert time.monotonic() - begin < 8


def test_a_connection_without_a_handshake_does_no_harm(webhook: WebhookProcess) -> None:
    with socket.create_connection((HOST, webhook.port), 10) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert (200, b"ok\n") == webhook.ask("/healthz")


def test_a_truncated_body_does_no_harm(webhook: WebhookProcess) -> None:
    body = json.dumps(GOOD).encode()
    raw(webhook, HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body[:100], shut=True)
    assert webhook.review(GOOD)["allowed"] is True


def test_old_versions_of_tls_are_refused(webhook: WebhookProcess) -> None:
    for version, works in (
        (ssl.TLSVersion.TLSv1_1, False),
        (ssl.TLSVersion.TLSv1_2, True),
        (ssl.TLSVersion.TLSv1_3, True),
    ):
        context = webhook.trust()
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version = context.maximum_version = version
        connection = webhook.connect(context)
        if works:
            connection.connect()
            connection.close()
        else:
            with pytest.raises(ssl.SSLError):
                connection.connect()


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_mutilated_reviews_are_answered_as_the_review_would(webhook: WebhookProcess, data: st.DataObject) -> None:
    body = bytearray(json.dumps(data.draw(st.sampled_from([GOOD, BAD]))).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(body) - 1))
        length = data.draw(st.integers(0, 6))
        body[at : at + length] = data.draw(st.binary(max_size=6))
    status, content = webhook.ask("/validate", bytes(body))
    try:
        expected: Any = review(json.loads(bytes(body)))
    except (NotAReviewError, ValueError):
        assert 400 == status
    else:
        assert (200, expected) == (status, json.loads(content))


def test_random_bytes_on_the_wire(webhook: WebhookProcess) -> None:
    """A request with bytes changed anywhere: whatever is answered, it is no 5xx, and no allow of a refused Trigger."""
    dice = random.Random(7)
    body = json.dumps(BAD).encode()
    whole = HEAD + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    statuses: Counter[bytes] = Counter()
    for _ in range(120):
        request = bytearray(whole)
        for _ in range(dice.randrange(1, 6)):
            at = dice.randrange(len(HEAD) if dice.random() < 0.7 else len(request))
            request[at : at + dice.randrange(3)] = dice.randbytes(dice.randrange(4))
        found = raw(webhook, bytes(request[: dice.randrange(len(request) // 2, len(request) + 1)]), b"\r\n" * 200)
        statuses[found[9:12]] += 1
        assert b'"allowed": true' not in found
    assert not any(status.startswith(b"5") for status in statuses), statuses
    assert sum(statuses.values()) == 120
    assert {b"400"} < set(statuses)


def test_metrics_count(webhook: WebhookProcess) -> None:
    name = "tricel_webhook_requests_total"
    before, denials = counted(webhook, name), counted(webhook, "tricel_webhook_denials_total")
    for body in (GOOD, BAD, BAD, {}):
        webhook.ask("/validate", body)
    grown = counted(webhook, name) - before
    assert {"allowed": 1, "denied": 2, "invalid": 1} == {
        outcome: n for key, n in grown.items() for outcome in key if outcome[0] != "/"
    }
    assert {("TRI203",): 2} == counted(webhook, "tricel_webhook_denials_total") - denials
    assert 0 == sum(counted(webhook, "tricel_webhook_in_flight").values())
    assert not [k for k in counted(webhook, name) if "failed" in k]


def test_logs_are_json_without_the_filter(webhook: WebhookProcess) -> None:
    webhook.review({**BAD, "request": {**BAD["request"], "uid": "the-uid\n\x1b", "dryRun": True}})
    # A line is written before its answer, and read from the pipe by another thread.
    wait_until(lambda: any("the-uid" in line for line in webhook.lines))
    logged = json.loads(next(line for line in webhook.lines if "the-uid" in line))
    assert ("reviewed", "denied", ["TRI203"], True) == tuple(
        logged[k] for k in ("message", "outcome", "codes", "dryRun")
    )
    assert ("shop", "orders", "CREATE") == tuple(logged[k] for k in ("namespace", "name", "operation"))
    assert all(json.loads(each) and each.isascii() for each in webhook.lines)
    assert not any("secret-word" in each for each in webhook.lines)


def test_more_than_it_can_do_is_503(tmp_path: Path) -> None:
    process = WebhookProcess(tmp_path, "--drain", "0", "--concurrency", "1")
    try:
        answers: list[int] = []
        slow = threading.Thread(target=lambda: answers.append(process.ask("/validate", SLOW)[0]))
        slow.start()
        wait_until(lambda: sum(counted(process, "tricel_webhook_in_flight").values()) == 1)
        found, _ = process.ask("/validate", GOOD)
        assert 503 == found
        assert 200 == process.ask("/healthz")[0]
        slow.join()
        assert [200] == answers
        assert process.review(GOOD)["allowed"] is True
    finally:
        assert 0 == process.stop()


def test_a_review_that_takes_too_long_is_a_denial(tmp_path: Path) -> None:
    process = WebhookProcess(tmp_path, "--drain", "0", "--review-timeout", "0.05")
    try:
        found = process.review(SLOW)
        assert found["allowed"] is False
        assert "TRI502" in found["status"]["message"]
        assert SLOW["request"]["uid"] == found["uid"]
        assert counted(process, "tricel_webhook_requests_total")["/validate", "denied"] == 1
    finally:
        process.stop()


def children_of(pid: int) -> list[int]:
    """The processes that a process started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(stat.parent.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_worker_that_dies_is_replaced(tmp_path: Path) -> None:
    process = WebhookProcess(tmp_path, "--drain", "0", "--workers", "1")
    try:
        connection = process.connect()
        connection.connect()
        workers = [pid for child in children_of(process.process.pid) for pid in children_of(child)]
        assert 1 == len(workers)
        os.kill(workers[0], signal.SIGKILL)
        statuses = [process.ask("/validate", GOOD)[0] for _ in range(5)]
        assert set(statuses) <= {200, 500}
        assert statuses[-3:] == [200, 200, 200]
        process.wait_for("a worker died")
        connection.request("GET", "/healthz")
        assert 200 == connection.getresponse().status
        connection.close()
        assert process.review(BAD)["allowed"] is False
    finally:
        assert 0 == process.stop()


class Load:
    """Threads that ask without a pause, on kept connections or on new ones, and note what fails."""

    def __init__(self, webhook: WebhookProcess, threads: int = 4) -> None:
        self.webhook = webhook
        self.answered = 0
        self.failed: list[str] = []
        self.refused = 0
        self.certificates: set[bytes] = set()
        self.done = threading.Event()
        self.threads = [threading.Thread(target=self._run, args=(n % 2 == 0,)) for n in range(threads)]
        for thread in self.threads:
            thread.start()

    def _run(self, keep: bool) -> None:
        body = json.dumps(GOOD).encode()
        connection: http.client.HTTPSConnection | None = None
        while not self.done.is_set():
            if connection is None:
                connection = self.webhook.connect()
                try:
                    connection.connect()
                except OSError:
                    self.refused += 1
                    connection = None
                    time.sleep(0.01)
                    continue
                self.certificates.add(connection.sock.getpeercert(binary_form=True) or b"")
            try:
                connection.request("POST", "/validate", body, JSON_HEADERS)
                response = connection.getresponse()
                content = response.read()
                if response.status != 200 or b'"allowed": true' not in content:
                    self.failed.append(f"{response.status} {content!r}")
                self.answered += 1
                if not keep or response.will_close:
                    connection.close()
                    connection = None
            except (OSError, http.client.HTTPException) as e:
                self.failed.append(repr(e))
                connection = None

    def stop(self) -> None:
        self.done.set()
        for thread in self.threads:
            thread.join(30)


def wait_until(condition: Any, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def test_rotation_under_load(tmp_path: Path) -> None:
    process = WebhookProcess(tmp_path, "--drain", "0", "--reload", "0.05")
    try:
        load = Load(process)
        for turn in range(1, 4):
            before = load.answered
            wait_until(lambda before=before: load.answered > before + 20)
            write_certificates(tmp_path, (HOST, "localhost"), datetime.now(UTC), days=2, authority_days=2)
            wait_until(lambda turn=turn: len(load.certificates) == turn + 1)
        (tmp_path / "tls.key").write_text("half a k")
        before = load.answered
        wait_until(lambda: load.answered > before + 20)
        load.stop()
        assert ([], 0) == (load.failed, load.refused)
        assert 4 == len(load.certificates)
        assert 3 == sum(counted(process, "tricel_webhook_certificate_reloads_total").values())
        process.wait_for("certificate not reloaded")
    finally:
        assert 0 == process.stop()


def test_the_end_under_load(tmp_path: Path) -> None:
    process = WebhookProcess(tmp_path, "--drain", "1")
    load = Load(process)
    wait_until(lambda: load.answered > 20)
    process.terminate()
    process.wait_for("ending")
    at_the_end = load.answered
    assert 503 == process.ask("/readyz")[0]
    status = process.process.wait(30)
    load.stop()
    assert 0 == status
    assert [] == load.failed
    assert load.answered > at_the_end
    assert load.refused > 0
    process.stop()


def test_a_review_in_progress_is_finished_at_the_end(tmp_path: Path) -> None:
    process = WebhookProcess(tmp_path, "--drain", "0")
    found: list[dict[str, Any]] = []
    asking = threading.Thread(target=lambda: found.append(process.review(SLOW)))
    asking.start()
    wait_until(lambda: sum(counted(process, "tricel_webhook_in_flight").values()) == 1)
    assert 0 == process.stop()
    asking.join(30)
    assert [True] == [each["allowed"] for each in found]


def test_an_expired_certificate_is_not_ready(tmp_path: Path) -> None:
    past = datetime.now(UTC) - timedelta(days=10)
    write_certificates(tmp_path, (HOST,), past, days=5, authority_days=30)
    process = WebhookProcess(tmp_path, "--drain", "0", "--reload", "0.05")
    try:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = process.connect(context)
        connection.request("GET", "/readyz")
        assert 503 == connection.getresponse().status
        connection.close()
        write_certificates(tmp_path, (HOST,), datetime.now(UTC), days=5, authority_days=30)
        process.wait_for("certificate reloaded")
        assert (200, b"ok\n") == process.ask("/readyz")
    finally:
        assert 0 == process.stop()


def test_no_certificate_is_said(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from tricel.cli import main

    command = ["webhook", "--certificate", str(tmp_path / "no.crt"), "--key", str(tmp_path / "no.key")]
    done = CliRunner().invoke(main, command)
    assert 2 == done.exit_code
    assert "No such file" in done.output


def test_a_pair_that_does_not_fit_is_not_taken_up(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    authority = make_authority("a", now, 1)
    first, second = (make_certificate(authority, (HOST,), now, 1) for _ in range(2))
    write_pair(tmp_path, first)
    rotating = RotatingCertificate(tmp_path / "tls.crt", tmp_path / "tls.key")
    assert rotating.refresh() is False
    (tmp_path / "tls.key").write_bytes(second.key_pem)
    assert rotating.refresh() is False
    (tmp_path / "tls.crt").write_bytes(second.certificate_pem)
    assert rotating.refresh() is True
