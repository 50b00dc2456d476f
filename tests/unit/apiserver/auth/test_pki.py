import socket
import ssl
import stat
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from virtshape.apiserver.auth.certificates import Credential, format_serial
from virtshape.apiserver.auth.pki import Pki, PkiError

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def read_certificate(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def hosts_of(certificate: x509.Certificate) -> set[str]:
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return {str(name.value) for name in names}


def test_key_and_certificate_files_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    pki = Pki(tmp_path / "pki")
    pki.ensure_server_certificate()
    pki.ensure_signing_key()
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "pki").iterdir()}
    assert modes == dict.fromkeys(["ca.crt", "ca.key", "apiserver.crt", "apiserver.key", "sa.key"], 0o600)
    assert stat.S_IMODE((tmp_path / "pki").stat().st_mode) == 0o700


def test_ca_key_readable_by_others_is_made_private(tmp_path: Path) -> None:
    Pki(tmp_path)
    (tmp_path / "ca.key").chmod(0o644)
    Pki(tmp_path)
    assert stat.S_IMODE((tmp_path / "ca.key").stat().st_mode) == 0o600


def test_keys_and_certificates_survive_a_restart(tmp_path: Path) -> None:
    def start() -> dict[str, bytes]:
        pki = Pki(tmp_path, NOW)
        pki.ensure_server_certificate(now=NOW)
        pki.ensure_signing_key()
        return {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    assert start() == start()


def test_server_certificate_covers_all_host_names(tmp_path: Path) -> None:
    files = Pki(tmp_path).ensure_server_certificate(["192.0.2.7", "VMs.Example.org"])
    assert hosts_of(read_certificate(files.certificate)) == {
        "127.0.0.1",
        "::1",
        "localhost",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
        socket.gethostname().lower(),
        "192.0.2.7",
        "vms.example.org",
    }


@pytest.mark.parametrize(
    ("later", "hosts", "is_new"),
    [
        pytest.param(timedelta(days=300), [], False, id="long before expiry"),
        pytest.param(timedelta(days=336), [], True, id="less than a month before expiry"),
        pytest.param(timedelta(days=400), [], True, id="after expiry"),
        pytest.param(timedelta(days=-2), [], True, id="before it is valid"),
        pytest.param(timedelta(), ["127.0.0.1", "LOCALHOST"], False, id="host in the certificate"),
        pytest.param(timedelta(), ["192.0.2.8"], True, id="host missing from the certificate"),
    ],
)
def test_server_certificate_is_renewed_only_when_needed(
    tmp_path: Path, later: timedelta, hosts: list[str], is_new: bool
) -> None:
    pki = Pki(tmp_path, NOW)
    first = pki.ensure_server_certificate(now=NOW).certificate.read_bytes()
    second = pki.ensure_server_certificate(hosts, now=NOW + later).certificate.read_bytes()
    assert (first != second) is is_new


def test_server_certificate_that_does_not_match_its_key_is_recreated(tmp_path: Path) -> None:
    pki = Pki(tmp_path)
    files = pki.ensure_server_certificate()
    before = files.certificate.read_bytes()
    files.key.write_bytes((tmp_path / "ca.key").read_bytes())
    pki.ensure_server_certificate()
    assert files.certificate.read_bytes() != before


def test_server_certificate_of_another_ca_is_recreated(tmp_path: Path) -> None:
    Pki(tmp_path).ensure_server_certificate()
    before = (tmp_path / "apiserver.crt").read_bytes()
    (tmp_path / "ca.crt").unlink()
    (tmp_path / "ca.key").unlink()
    Pki(tmp_path).ensure_server_certificate()
    assert (tmp_path / "apiserver.crt").read_bytes() != before


def test_expiring_ca_certificate_is_renewed_with_the_same_key(tmp_path: Path) -> None:
    old = Pki(tmp_path, NOW).authority.certificate
    new = Pki(tmp_path, NOW + timedelta(days=3650 - 380)).authority.certificate
    assert new.not_valid_after_utc > old.not_valid_after_utc
    assert (new.public_key(), new.subject) == (old.public_key(), old.subject)


def test_ca_certificate_is_recreated_with_the_same_key_after_the_clock_was_set_back(tmp_path: Path) -> None:
    old = Pki(tmp_path, NOW).authority.certificate
    earlier = NOW - timedelta(days=2)
    pki = Pki(tmp_path, earlier)
    new = pki.authority.certificate
    assert new.not_valid_before_utc <= earlier < old.not_valid_before_utc
    assert new.public_key() == old.public_key()


def test_missing_ca_certificate_is_recreated_with_the_existing_key(tmp_path: Path) -> None:
    key = Pki(tmp_path).authority.certificate.public_key()
    (tmp_path / "ca.crt").unlink()
    assert Pki(tmp_path).authority.certificate.public_key() == key


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        pytest.param("ca.key", "is not a P-256 key", id="key"),
        pytest.param("ca.crt", "is not a certificate", id="certificate"),
    ],
)
def test_error_names_the_invalid_ca_file(tmp_path: Path, broken: str, problem: str) -> None:
    Pki(tmp_path)
    (tmp_path / broken).write_bytes(b"scribble")
    with pytest.raises(PkiError, match=f"{broken} {problem}"):
        Pki(tmp_path)


def test_ca_certificate_without_key_is_an_error(tmp_path: Path) -> None:
    Pki(tmp_path)
    (tmp_path / "ca.key").unlink()
    with pytest.raises(PkiError, match=r"ca\.key is missing"):
        Pki(tmp_path)


def test_mismatched_ca_certificate_and_key_are_rejected(tmp_path: Path) -> None:
    Pki(tmp_path / "a")
    Pki(tmp_path / "b")
    (tmp_path / "a" / "ca.key").replace(tmp_path / "b" / "ca.key")
    with pytest.raises(PkiError, match="do not match"):
        Pki(tmp_path / "b")


def test_certificates_do_not_outlive_the_ca(tmp_path: Path) -> None:
    authority = Pki(tmp_path, NOW).authority
    credential = authority.issue_client("alice", lifetime=timedelta(days=9999), now=NOW)
    assert credential.expires == authority.certificate.not_valid_after_utc


@pytest.mark.parametrize(("number", "text"), [(0xABC, "0ABC"), (0xABCD, "ABCD"), (1, "01")])
def test_serial_number_is_formatted_as_in_tls_libraries(number: int, text: str) -> None:
    assert format_serial(number) == text


class Handshake:
    """A TLS server on loopback for one connection; records the identity of the client."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.peer: dict[str, Any] | None = None
        self.error: Exception | None = None
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        connection, _ = self._listener.accept()
        try:
            with self._context.wrap_socket(connection, server_side=True) as tls:
                self.peer = tls.getpeercert()
                tls.sendall(b"done")
        except (ssl.SSLError, OSError) as error:
            self.error = error
        finally:
            connection.close()
            self._listener.close()

    def wait(self) -> None:
        self._thread.join(timeout=240)


def connect(
    server: Pki, trusted: bytes, client: Credential | None, directory: Path, host: str
) -> dict[str, Any] | None:
    """Connect as a client that trusts the CA `trusted`; return the client certificate that the server received."""
    context = ssl.create_default_context(cadata=trusted.decode())
    if client is not None:
        chain = directory / "client.pem"
        chain.write_bytes(client.certificate + client.key)
        context.load_cert_chain(chain)
    handshake = Handshake(server.build_server_context())
    try:
        with (
            socket.create_connection(("127.0.0.1", handshake.port), timeout=240) as plain,
            context.wrap_socket(plain, server_hostname=host) as tls,
        ):
            tls.recv(4)
    finally:
        handshake.wait()
    if handshake.error is not None:
        raise handshake.error
    return handshake.peer


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "kubernetes.default.svc"])
def test_client_and_server_authenticate_by_certificate(tmp_path: Path, host: str) -> None:
    pki = Pki(tmp_path / "pki")
    client = pki.authority.issue_client("alice", ["dev", "ops"])
    peer = connect(pki, pki.authority.pem, client, tmp_path, host)
    assert peer is not None
    assert peer["subject"] == (
        (("organizationName", "dev"),),
        (("organizationName", "ops"),),
        (("commonName", "alice"),),
    )
    assert peer["serialNumber"] == client.serial
    assert ssl.cert_time_to_seconds(peer["notAfter"]) == client.expires.timestamp()


def test_client_without_certificate_may_connect(tmp_path: Path) -> None:
    pki = Pki(tmp_path / "pki")
    assert not connect(pki, pki.authority.pem, None, tmp_path, "localhost")


def test_client_certificate_of_another_ca_is_rejected(tmp_path: Path) -> None:
    pki, other = Pki(tmp_path / "pki"), Pki(tmp_path / "other")
    with pytest.raises(ssl.SSLError):
        connect(pki, pki.authority.pem, other.authority.issue_client("alice"), tmp_path, "localhost")


def test_server_certificate_is_rejected_as_client_certificate(tmp_path: Path) -> None:
    pki = Pki(tmp_path / "pki")
    with pytest.raises(ssl.SSLError):
        connect(pki, pki.authority.pem, pki.authority.issue_server(["localhost"]), tmp_path, "localhost")


def test_server_of_another_ca_is_not_trusted(tmp_path: Path) -> None:
    pki, other = Pki(tmp_path / "pki"), Pki(tmp_path / "other")
    with pytest.raises(ssl.SSLError):
        connect(pki, other.authority.pem, None, tmp_path, "localhost")


def test_certificates_stay_valid_after_ca_renewal(tmp_path: Path) -> None:
    old = Pki(tmp_path / "pki")
    client = old.authority.issue_client("alice")
    (tmp_path / "pki" / "ca.crt").unlink()
    renewed = Pki(tmp_path / "pki")
    assert renewed.authority.pem != old.authority.pem
    assert connect(renewed, old.authority.pem, client, tmp_path, "localhost")
