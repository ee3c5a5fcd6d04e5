"""The host's own keys, made at the first start and never shown: operator, age identity, TLS, SSH host key.

They are hot: they lie on a host that runs strangers' code, and move no money. What each can do at most is in
SECURITY.md. Files are 0600 in a folder that is 0700.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import asyncssh
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from leasehold.chain import LocalSigner
from leasehold.datasets import new_identity, recipient_of
from leasehold.files import write_private

_YEARS = timedelta(days=3_650)


@dataclass(frozen=True)
class Identity:
    """Keys as objects where the agent uses them, as paths where a server loads them."""

    operator: LocalSigner
    age_identity: str = field(repr=False)
    tls_certificate: Path
    tls_key: Path
    ssh_host_key: Path
    ssh_public_key: str

    @property
    def age_recipient(self) -> str:
        return recipient_of(self.age_identity)

    @property
    def certificate_pem(self) -> str:
        return self.tls_certificate.read_text()


def load_identity(state_dir: Path, *, now: datetime | None = None) -> Identity:
    """The keys in `state_dir`; those that are missing are made. A folder of another's is refused by its mode."""
    state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    state_dir.chmod(0o700)
    operator = _text(state_dir / "operator.key", lambda: "0x" + secrets.token_hex(32))
    age = _text(state_dir / "age.key", new_identity)
    _make_certificate(state_dir / "tls.crt", state_dir / "tls.key", now or datetime.now(UTC))
    ssh_host_key = state_dir / "ssh_host_key"
    _text(ssh_host_key, lambda: asyncssh.generate_private_key("ssh-ed25519").export_private_key().decode())
    public = asyncssh.read_private_key(str(ssh_host_key)).export_public_key().decode().split()[:2]
    return Identity(
        operator=LocalSigner(operator),
        age_identity=age,
        tls_certificate=state_dir / "tls.crt",
        tls_key=state_dir / "tls.key",
        ssh_host_key=ssh_host_key,
        ssh_public_key=" ".join(public),
    )


def _text(path: Path, make: Callable[[], str]) -> str:
    if not path.exists():
        write_private(path, make().strip().encode() + b"\n")
    return path.read_text().strip() if path.suffix == ".key" else path.read_text()


def _make_certificate(certificate: Path, key: Path, now: datetime) -> None:
    """Self-signed: clients pin exactly this certificate, which the contact document carries, so names do not count.

    The key comes first: a crash between the two leaves no certificate, and both are made anew.
    """
    if certificate.exists() and key.exists():
        return
    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "leasehold-agent")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + _YEARS)
        .add_extension(
            x509.SubjectAlternativeName(
                [
                    x509.DNSName("leasehold-agent"),
                    x509.DNSName("localhost"),
                    x509.IPAddress(ip_address("127.0.0.1")),
                ]
            ),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(private, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    form = serialization.PrivateFormat.PKCS8
    certificate.unlink(missing_ok=True)
    write_private(key, private.private_bytes(encoding, form, serialization.NoEncryption()))
    write_private(certificate, made.public_bytes(encoding))
