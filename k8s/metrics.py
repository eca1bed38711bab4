"""What the webhook counts, for Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

CONTENT_TYPE = CONTENT_TYPE_LATEST
_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Metrics:
    """The counters of one server, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "tricel_webhook_requests", "Reviews, by path and outcome.", ["path", "outcome"], registry=self.registry
        )
        self.latency = Histogram(
            "tricel_webhook_request_seconds",
            "From a complete request to its answer.",
            ["path"],
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self.denials = Counter("tricel_webhook_denials", "Denied reviews, by code.", ["code"], registry=self.registry)
        self.in_flight = Gauge("tricel_webhook_in_flight", "Reviews being made.", registry=self.registry)
        self.connections = Gauge("tricel_webhook_connections", "Open connections.", registry=self.registry)
        self.dropped = Counter(
            "tricel_webhook_connections_dropped",
            "Connections that were dropped, to make room or because they were slow.",
            ["reason"],
            registry=self.registry,
        )
        self.reloads = Counter("tricel_webhook_certificate_reloads", "Certificates taken up.", registry=self.registry)
        self.expiry = Gauge(
            "tricel_webhook_certificate_expiry_timestamp_seconds",
            "When the certificate ends, in seconds since 1970.",
            registry=self.registry,
        )

    def text(self) -> bytes:
        """The exposition format."""
        return generate_latest(self.registry)
