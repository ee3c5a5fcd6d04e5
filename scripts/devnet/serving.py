"""What the agent's servers need to start, made on the spot: certificate, host key, operator, clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import asyncssh
import orjson
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from leasehold.chain import LocalSigner
from leasehold_agent._runtime import LeaseRuntime, ServeContext

CHAIN = 31337
CONTROLLER = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
MACHINE = 7


@dataclass
class Clock:
    """A clock that a test sets. Unix seconds."""

    at: int = 1_800_000_000

    def __call__(self) -> int:
        return self.at


@dataclass
class Chain:
    """What `Accounts.isAuthorized` answers: the (account, digest) pairs it knows, or the error that asking raises."""

    approved: set[tuple[str, bytes]]
    error: Exception | None = None
    asked: int = 0

    async def is_authorized(self, account: str, digest: bytes, proof: bytes) -> bool:
        self.asked += 1
        if self.error is not None:
            raise self.error
        return (account, digest) in self.approved


def certificate(folder: Path, host: str = "127.0.0.1") -> tuple[Path, Path]:
    """A self-signed certificate and its key, in PEM files."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "leasehold-agent")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=3650))
        .add_extension(x509.SubjectAlternativeName([_named(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate_file, key_file = folder / "tls.pem", folder / "tls.key"
    certificate_file.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return certificate_file, key_file


def _named(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def serve_context(
    folder: Path, runtime: LeaseRuntime, operator: LocalSigner, clock: Clock, chain: Chain
) -> ServeContext:
    """A context for `runtime` on loopback; its files go to `folder`."""
    certificate_file, key_file = certificate(folder)
    host_key = folder / "ssh_host_key"
    host_key.write_bytes(asyncssh.generate_private_key("ssh-ed25519").export_private_key())
    host_key.chmod(0o600)
    contact = {
        "version": 1,
        "endpoints": [],
        "certificate": certificate_file.read_text(),
        "age_recipient": "age1qqqq",
        "operator": operator.address,
        "issued_at": clock(),
    }
    return ServeContext(
        runtime=runtime,
        chain_id=CHAIN,
        controller=CONTROLLER,
        machines=lambda: [MACHINE],
        contact=lambda: orjson.dumps(contact, option=orjson.OPT_SORT_KEYS),
        operator=operator,
        is_authorized=chain.is_authorized,
        state_dir=folder,
        tls_certificate=certificate_file,
        tls_key=key_file,
        ssh_host_key=host_key,
        now=clock,
    )
