"""The server's side of TLS, whose certificate is read again when its files change."""

from __future__ import annotations

import logging
import ssl
import tempfile
from datetime import datetime
from pathlib import Path

from .certificates import not_after

_LOG = logging.getLogger("tricel.webhook")


class RotatingCertificate:
    """A TLS context whose certificate follows its files. Open connections keep the certificate that they began with.

    Every handshake takes the context that is current: a whole one, so that no handshake sees the certificate of one pair
    and the key of another, as it could while files are being replaced one by one.
    """

    def __init__(self, certificate: Path, key: Path) -> None:
        """Reads the pair.

        Raises:
            OSError: where a file cannot be read.
            ValueError: where they are not a certificate and its key.
        """
        self._paths = (certificate, key)
        self._content = self._read()
        self._current = _context(*self._content)
        self.expires: datetime = not_after(self._content[0])
        self.context = _empty_context()
        self.context.sni_callback = self._choose

    def refresh(self) -> bool:
        """Reads the files again; whether there is a new pair. One that does not fit together is left for later."""
        try:
            content = self._read()
            if content == self._content:
                return False
            current, expires = _context(*content), not_after(content[0])
        except (OSError, ValueError) as e:
            _LOG.warning("certificate not reloaded", extra={"fields": {"error": type(e).__name__}})
            return False
        self._content, self._current, self.expires = content, current, expires
        return True

    def _choose(self, connection: ssl.SSLObject | ssl.SSLSocket, name: str | None, context: ssl.SSLContext) -> None:
        connection.context = self._current

    def _read(self) -> tuple[bytes, bytes]:
        certificate, key = self._paths
        return certificate.read_bytes(), key.read_bytes()


def _empty_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


def _context(certificate: bytes, key: bytes) -> ssl.SSLContext:
    """A context with the pair. The ssl module reads files only, so the pair, as it was read, goes through one."""
    context = _empty_context()
    with tempfile.NamedTemporaryFile(prefix="tricel-", suffix=".pem") as file:
        file.write(key + b"\n" + certificate)
        file.flush()
        try:
            context.load_cert_chain(file.name)
        except ssl.SSLError as e:
            raise ValueError("not a certificate and its key") from e
    return context
