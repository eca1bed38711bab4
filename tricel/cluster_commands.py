"""Commands for a Kubernetes cluster: crd, webhook and certs."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import click

from tricel.compiler import Limits
from tricel.compiler.trigger_fields import CROSS_NAMESPACE

from .exits import failed
from .options import limit_option


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
@click.option(
    "--feature",
    "features",
    multiple=True,
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
@click.option("--idle-timeout", default=100.0, show_default=True, help="Seconds that a connection may stay idle.")
@click.option("--max-body", default=8 * 2**20, show_default=True, help="Largest request, in bytes.")
@click.option("--reload", "reload_", default=5.0, show_default=True, help="Seconds between looks at the certificate.")
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
    idle_timeout: float,
    max_body: int,
    reload_: float,
) -> None:
    """Serve the admission webhook over HTTPS: /validate, /mutate, /healthz, /readyz and /metrics.

    The certificate is read again when its files change. SIGTERM ends the server once what it accepted is answered.
    Logs are JSON, one object a line, on standard error; they hold no filter and no event.
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
@click.option("--host", "hosts", multiple=True, metavar="NAME", help="Another name or address to be reached by.")
@click.option("--days", default=365, show_default=True, help="How long the certificate lasts.")
@click.option("--ca-days", default=3650, show_default=True, help="How long a new authority lasts.")
def certs(folder: str, service: str, namespace: str, hosts: tuple[str, ...], days: int, ca_days: int) -> None:
    """Make the webhook's certificate, signed by an authority of its own, in FOLDER.

    FOLDER then holds ca.crt, ca.key, tls.crt and tls.key, and ca-bundle.yaml, the patch for the webhook configurations.
    Run it again to renew the certificate under the same authority.
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
