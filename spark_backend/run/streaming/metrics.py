"""What a stream counts, for Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server
from tricel.compiler import Diagnostic

from ...failure import RunError
from ..reports import RunReport, StreamReport
from .observers import BatchDone

_BUCKETS = (0.1, 0.25, 0.5, 1, 2, 3, 5, 7.5, 10, 15, 30, 60, 120, 300, 600)


class Metrics:
    """The counters of one stream since its process began, in a registry of its own: an `Observer`."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()

        def counter(name: str, doc: str, *labels: str) -> Counter:
            return Counter(f"tricel_stream_{name}", doc, labels, registry=self.registry)

        self.events = counter("events", "Events read, malformed ones too.")
        self.malformed = counter("malformed", "Texts that are no event.")
        self.deliveries = counter("deliveries", "Events written for a trigger.")
        self.errors = counter("errors", "Evaluations that erred.")
        self.outcomes = counter("trigger_outcomes", "Evaluations, by trigger and outcome.", "trigger", "outcome")
        self.batches = counter("batches", "Batches that are committed.")
        self.reloads = counter("trigger_set_reloads", "Changes of the triggers, taken up or refused.", "result")
        for result in ("accepted", "refused"):
            self.reloads.labels(result)
        self.latency = Histogram(
            "tricel_stream_batch_seconds",
            "From a batch's beginning to its commit.",
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self.last = Gauge("tricel_stream_last_batch", "Number of the last committed batch.", registry=self.registry)
        self.committed = Gauge(
            "tricel_stream_last_commit_timestamp_seconds",
            "When it was committed, in seconds since 1970.",
            registry=self.registry,
        )
        self.triggers = Gauge("tricel_stream_triggers", "Triggers that judge the next batch.", registry=self.registry)
        self.set = Gauge("tricel_stream_trigger_set_info", "The hash of their set.", ["hash"], registry=self.registry)
        self._sets = 0

    def serve(self, host: str, port: int) -> int:
        """Answers on a port from a thread of its own, and gives the port, which 0 leaves to the system.

        Raises:
            RunError: (TRI606) where the port cannot be had.
        """
        try:
            server, _ = start_http_server(port, host, self.registry)
        except OSError as e:
            raise RunError("TRI606", f"metrics cannot be served: {e.strerror or e}", f"{host}:{port}") from None
        return int(server.server_port)

    def began(self, total: StreamReport) -> None:
        """Says how far the stream was."""
        self.last.set(total.last)

    def batch_done(self, done: BatchDone) -> None:
        """Counts a batch."""
        report: RunReport = done.report
        self.events.inc(report.read)
        self.malformed.inc(report.malformed)
        self.deliveries.inc(report.written)
        self.errors.inc(sum(t.errored for t in report.triggers))
        for t in report.triggers:
            for outcome, count in (("delivered", t.delivered), ("filtered", t.filtered), ("errored", t.errored)):
                if count:
                    self.outcomes.labels(t.trigger, outcome).inc(count)
        self.batches.inc()
        self.latency.observe(done.seconds)
        self.last.set(done.number)
        self.committed.set_to_current_time()

    def set_taken(self, set_: str, triggers: int) -> None:
        """Shows the set; every one after the first is a reload."""
        self.set.clear()
        self.set.labels(set_).set(1)
        self.triggers.set(triggers)
        if self._sets:
            self.reloads.labels("accepted").inc()
        self._sets += 1

    def set_refused(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        """Counts it."""
        self.reloads.labels("refused").inc()

    def warned(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        """Counts nothing."""
