"""The certificates that `tricel certs` makes: what is in them, who may read them, and that they are renewed."""

from __future__ import annotations

import base64
import ssl
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.verification import PolicyBuilder, Store
from tricel.k8s.certificates import ca_bundle, make_authority, make_certificate, not_after, service_hosts

from tricel.cli import main

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)


def test_the_certificate_is_for_the_service_and_from_the_authority() -> None:
    authority = make_authority("a", NOW, 100)
    pair = make_certificate(authority, (*service_hosts("hook", "ns"), "127.0.0.1"), NOW, 10)
    store = Store([authority.certificate])
    for name in ("hook.ns.svc", "hook.ns.svc.cluster.local"):
        verifier = PolicyBuilder().store(store).time(NOW).build_server_verifier(x509.DNSName(name))
        assert [pair.certificate, authority.certificate] == verifier.verify(pair.certificate, [])
    with pytest.raises(x509.verification.VerificationError):
        PolicyBuilder().store(store).time(NOW).build_server_verifier(x509.DNSName("other.ns.svc")).verify(
            pair.certificate, []
        )
    stranger = Store([make_authority("a", NOW, 100).certificate])
    with pytest.raises(x509.verification.VerificationError):
        PolicyBuilder().store(stranger).time(NOW).build_server_verifier(x509.DNSName("hook.ns.svc")).verify(
            pair.certificate, []
        )
    names = pair.certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert ["127.0.0.1"] == [str(a) for a in names.get_values_for_type(x509.IPAddress)]
    usage = pair.certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert [ExtendedKeyUsageOID.SERVER_AUTH] == list(usage)
    assert NOW + timedelta(days=10) == not_after(pair.certificate_pem)


def test_the_authority_signs_servers_and_nothing_more() -> None:
    extensions = make_authority("a", NOW, 1).certificate.extensions
    basic = extensions.get_extension_for_class(x509.BasicConstraints)
    assert (True, True, 0) == (basic.critical, basic.value.ca, basic.value.path_length)
    usage = extensions.get_extension_for_class(x509.KeyUsage).value
    assert (True, False) == (usage.key_cert_sign, usage.digital_signature)


def certs(folder: Path, *options: str) -> list[str]:
    done = CliRunner().invoke(main, ["certs", str(folder), *options])
    assert 0 == done.exit_code, done.output
    return [Path(line).name for line in done.output.splitlines()]


def test_the_command_writes_and_renews(tmp_path: Path) -> None:
    folder = tmp_path / "certificates"
    assert ["ca.crt", "ca.key", "tls.crt", "tls.key", "ca-bundle.yaml"] == certs(folder)
    first = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert ["tls.crt", "tls.key", "ca-bundle.yaml"] == certs(folder)
    second = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert {"tls.crt", "tls.key"} == {name for name in first if first[name] != second[name]}
    modes = {name: stat.S_IMODE((folder / name).stat().st_mode) for name in first}
    assert {"ca.key": 0o600, "tls.key": 0o600} == {name: mode for name, mode in modes.items() if name.endswith(".key")}
    ssl.create_default_context(cafile=str(folder / "ca.crt"))
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(folder / "tls.crt", folder / "tls.key")
    (operation,) = yaml.safe_load((folder / "ca-bundle.yaml").read_text())
    assert "/webhooks/0/clientConfig/caBundle" == operation["path"]
    assert first["ca.crt"] == base64.b64decode(operation["value"]) == base64.b64decode(ca_bundle(folder))


def test_a_broken_authority_is_said(tmp_path: Path) -> None:
    certs(tmp_path)
    (tmp_path / "ca.key").write_text("no key")
    done = CliRunner().invoke(main, ["certs", str(tmp_path)])
    assert 2 == done.exit_code
    assert done.output.startswith("error: ")
