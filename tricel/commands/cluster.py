"""Commands for a Kubernetes cluster: crd, webhook and certs."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import click

from tricel.compiler import Limits
from tricel.compiler.manifests.trigger_fields import CROSS_NAMESPACE

from ..exits import failed
from ..extras import needs
from .options import limit_option, repeatable


@click.command()
@click.option("--policy", is_flag=True, help="A ValidatingAdmissionPolicy and its binding, instead of the definition.")
def crd(policy: bool) -> None:
    """Print the CustomResourceDefinition of tricel.dev Triggers, or a policy that needs no webhook.

    \b
      tricel crd | kubectl apply -f -
      tricel crd --policy | kubectl apply -f -      (Kubernetes 1.30 or later)
    """
    from tricel.k8s.crd import admission_policy, as_yaml, custom_resource_definition

    manifests = admission_policy() if policy else (custom_resource_definition(),)
    click.echo(as_yaml(*manifests), nl=False)


@click.command()
@click.option("--certificate", "certificate", required=True, metavar="FILE", help="The certificate chain, in PEM.")
@click.option("--key", "key", required=True, metavar="FILE", help="Its private key, in PEM.")
@click.option("--host", default="0.0.0.0", show_default=True, help="The address to listen on.")
@click.option("--port", default=8443, show_default=True, help="The port; 0 takes a free one.")
@repeatable(
    "--feature",
    "features",
    type=click.Choice([CROSS_NAMESPACE]),
    help="A Knative feature that is on in the cluster.",
)
@limit_option
@click.option("--drain", default=5.0, show_default=True, help="Seconds to go on serving after SIGTERM.")
@click.option("--concurrency", default=128, show_default=True, help="Reviews at once; more are answered with 503.")
@click.option("--workers", type=click.IntRange(1), help="Processes that review; one for each core, at most 4.")
@click.option("--review-timeout", default=8.0, show_default=True, help="Seconds after which a Trigger is denied.")
@click.option(
    "--body-timeout", default=5.0, show_default=True, help="Seconds that a request's body may take to arrive."
)
@click.option(
    "--head-timeout", default=5.0, show_default=True, help="Seconds until the first request on a connection begins."
)
@click.option("--idle-timeout", default=100.0, show_default=True, help="Seconds that a connection may stay idle.")
@click.option("--connections", default=128, show_default=True, help="Connections at once; the slowest make room.")
@click.option("--max-body", default=4 * 2**20, show_default=True, help="Largest request, in bytes.")
@click.option("--max-bodies", default=12 * 2**20, show_default=True, help="All requests at once, in bytes.")
@click.option(
    "--worker-memory", default=48 * 2**20, show_default=True, help="What one review may need of memory, in bytes."
)
@click.option("--reload", "reload_", default=5.0, show_default=True, help="Seconds between looks at the certificate.")
@needs("k8s", "tricel webhook")
def webhook(
    certificate: str,
    key: str,
    host: str,
    port: int,
    features: tuple[str, ...],
    limits: Limits,
    drain: float,
    concurrency: int,
    workers: int | None,
    review_timeout: float,
    body_timeout: float,
    head_timeout: float,
    idle_timeout: float,
    connections: int,
    max_body: int,
    max_bodies: int,
    worker_memory: int,
    reload_: float,
) -> None:
    """Serve the admission webhook over HTTPS: /validate, /mutate, /healthz, /readyz and /metrics.

    The certificate is read again when its files change. SIGTERM ends the server once what it accepted is answered.
    Logs are JSON, one object a line, on standard error; they hold no filter and no event.

    Exit status: 0 it was ended by SIGTERM or SIGINT, 2 it cannot serve.

    \b
      tricel webhook --certificate tls.crt --key tls.key
      tricel webhook --certificate tls.crt --key tls.key --port 0 --limit cost=100000
    """
    from tricel.k8s.logs import write_json_logs
    from tricel.k8s.server import Options, serve

    write_json_logs()
    options = Options(
        certificate=Path(certificate),
        key=Path(key),
        host=host,
        port=port,
        features=frozenset(features),
        limits=limits,
        largest=max_body,
        review=review_timeout,
        read=body_timeout,
        room=max(max_body, max_bodies),
        memory=worker_memory,
        connections=connections,
        head=head_timeout,
        idle=idle_timeout,
        reload=reload_,
        most=concurrency,
        drain=drain,
    )
    if workers is not None:
        options = replace(options, workers=workers)
    try:
        asyncio.run(serve(options))
    except (OSError, ValueError) as e:
        sys.exit(failed(e))


@click.command()
@click.argument("folder", metavar="FOLDER")
@click.option("--service", default="tricel-webhook", show_default=True, help="The webhook's Service.")
@click.option("--namespace", default="tricel-system", show_default=True, help="Its namespace.")
@repeatable("--host", "hosts", metavar="NAME", help="Another name or address to be reached by.")
@click.option("--days", default=365, show_default=True, help="How long the certificate lasts.")
@click.option("--ca-days", default=3650, show_default=True, help="How long a new authority lasts.")
@needs("k8s", "tricel certs")
def certs(folder: str, service: str, namespace: str, hosts: tuple[str, ...], days: int, ca_days: int) -> None:
    """Make the webhook's certificate, signed by an authority of its own, in FOLDER.

    FOLDER then holds ca.crt, ca.key, tls.crt and tls.key, and ca-bundle.yaml, the patch for the webhook configurations.
    Run it again to renew the certificate under the same authority.

    Exit status: 0 they are written, 2 they cannot be.

    \b
      tricel certs secrets/
      tricel certs secrets/ --host localhost --host 127.0.0.1 --days 30
    """
    from tricel.k8s.certificates import service_hosts, write_certificates, write_patch

    target = Path(folder)
    try:
        written = write_certificates(
            target, (*service_hosts(service, namespace), *hosts), datetime.now(UTC), days=days, authority_days=ca_days
        )
        written = (*written, write_patch(target))
    except (OSError, ValueError) as e:
        sys.exit(failed(e, folder))
    for path in written:
        click.echo(str(path))


COMMANDS: tuple[click.Command, ...] = (crd, webhook, certs)
