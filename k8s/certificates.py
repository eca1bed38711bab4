"""A certification authority of one's own and the webhook's certificate, for clusters without cert-manager."""

from __future__ import annotations

import base64
import ipaddress
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

CA_CERTIFICATE, CA_KEY = "ca.crt", "ca.key"
CERTIFICATE, KEY = "tls.crt", "tls.key"
PATCH = "ca-bundle.yaml"
_SKEW = timedelta(minutes=5)


@dataclass(frozen=True)
class Pair:
    """A certificate and its private key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def certificate_pem(self) -> bytes:
        """The certificate in PEM."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        """The private key in PEM (PKCS 8), without a password."""
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )


def make_authority(name: str, now: datetime, days: int) -> Pair:
    """A self-signed authority that may sign servers' certificates and nothing else."""
    key = ec.generate_private_key(ec.SECP256R1())
    builder = _builder(name, key.public_key(), now, days).issuer_name(_name(name))
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_usage(signs=True), critical=True)
    return Pair(builder.sign(key, hashes.SHA256()), key)


def make_certificate(authority: Pair, hosts: Sequence[str], now: datetime, days: int) -> Pair:
    """A server's certificate for names and IP addresses, signed by the authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    builder = _builder(hosts[0], key.public_key(), now, days).issuer_name(authority.certificate.subject)
    alternatives = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_usage(signs=False), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    builder = builder.add_extension(alternatives, critical=False).add_extension(issuer, critical=False)
    return Pair(builder.sign(authority.key, hashes.SHA256()), key)


def service_hosts(service: str, namespace: str) -> tuple[str, ...]:
    """The names under which a cluster reaches a Service; the API server asks for the first."""
    return (f"{service}.{namespace}.svc", f"{service}.{namespace}", f"{service}.{namespace}.svc.cluster.local")


def write_certificates(
    folder: Path, hosts: Sequence[str], now: datetime, *, days: int, authority_days: int
) -> tuple[Path, ...]:
    """Writes the webhook's certificate and key, signed by the folder's authority, which is made where there is none.

    A later call renews the certificate under the same authority, so that the cluster need not be told. Keys are
    readable by their owner only. Returns the files that were written.

    Raises:
        OSError: where the folder cannot be read or written.
        ValueError: where the authority in the folder cannot be read.
    """
    folder.mkdir(parents=True, exist_ok=True)
    authority, written = _authority(folder, now, authority_days)
    pair = make_certificate(authority, hosts, now, days)
    write_pair(folder, pair)
    return (*written, folder / CERTIFICATE, folder / KEY)


def write_pair(folder: Path, pair: Pair) -> None:
    """Writes a server's certificate and key, each at once."""
    _write(folder / KEY, pair.key_pem, secret=True)
    _write(folder / CERTIFICATE, pair.certificate_pem)


def ca_bundle(folder: Path) -> str:
    """The authority's certificate as a webhook configuration takes it (`caBundle`): PEM in base64."""
    return base64.b64encode((folder / CA_CERTIFICATE).read_bytes()).decode()


def write_patch(folder: Path) -> Path:
    """Writes a JSON patch (RFC 6902, as YAML) that puts the authority into a webhook configuration."""
    path = folder / PATCH
    operation = f"- op: add\n  path: /webhooks/0/clientConfig/caBundle\n  value: {ca_bundle(folder)}\n"
    _write(path, operation.encode())
    return path


def not_after(certificate_pem: bytes) -> datetime:
    """When the first certificate in a PEM text ends.

    Raises:
        ValueError: where there is none.
    """
    return x509.load_pem_x509_certificate(certificate_pem).not_valid_after_utc


def _authority(folder: Path, now: datetime, days: int) -> tuple[Pair, tuple[Path, ...]]:
    certificate, key = folder / CA_CERTIFICATE, folder / CA_KEY
    if certificate.exists() and key.exists():
        loaded = serialization.load_pem_private_key(key.read_bytes(), None)
        if not isinstance(loaded, ec.EllipticCurvePrivateKey):
            raise ValueError(f"{key} is not an elliptic-curve key")
        return Pair(x509.load_pem_x509_certificate(certificate.read_bytes()), loaded), ()
    made = make_authority("tricel webhook CA", now, days)
    _write(key, made.key_pem, secret=True)
    _write(certificate, made.certificate_pem)
    return made, (certificate, key)


def _builder(name: str, key: ec.EllipticCurvePublicKey, now: datetime, days: int) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text[:64])])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _write(path: Path, content: bytes, *, secret: bool = False) -> None:
    """Replaces a file at once, so that a reader never sees a part of it."""
    draft = path.with_name(f".{path.name}.new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if secret else 0o644)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    draft.replace(path)
