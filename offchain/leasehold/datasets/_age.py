"""The age format: keys, bytes and streams, sealed to X25519 recipients.

An *identity* (`AGE-SECRET-KEY-1…`) is secret, its *recipient* (`age1…`) is public.
"""

from collections.abc import Iterable, Iterator
from typing import BinaryIO, Protocol

import pyrage
from pyrage import x25519

from leasehold.datasets._pipe import ChunkReader, piped
from leasehold.errors import AgeKeyInvalid, SealBroken, WrongIdentity

_CHUNK = 1 << 20


def new_identity() -> str:
    """A fresh identity from the system's randomness."""
    return str(x25519.Identity.generate())


def recipient_of(identity: str) -> str:
    """The recipient that belongs to `identity`. Raises AgeKeyInvalid."""
    return str(_identity(identity).to_public())


def check_identity(identity: str) -> None:
    """Raises AgeKeyInvalid unless `identity` is one."""
    _identity(identity)


def check_recipient(recipient: str) -> None:
    """Raises AgeKeyInvalid unless `recipient` is one."""
    _recipient(recipient)


def encrypt(data: bytes, recipients: Iterable[str]) -> bytes:
    """`data` sealed to all of `recipients`, any of whose identities opens it. Raises AgeKeyInvalid."""
    sealed: bytes = pyrage.encrypt(data, _recipients(recipients))
    return sealed


def decrypt(sealed: bytes, identity: str, what: str) -> bytes:
    """What was sealed; `what` names it in errors.

    Raises AgeKeyInvalid, WrongIdentity when it was sealed to others, SealBroken when it is damaged.
    """
    key = _identity(identity)
    try:
        data: bytes = pyrage.decrypt(sealed, [key])
    except pyrage.DecryptError as error:
        raise _opening_failed(error, what) from error
    return data


class Sink(Protocol):
    """Where decrypted bytes go."""

    def write(self, data: bytes, /) -> int | None: ...

    def flush(self) -> None: ...


def encrypted(chunks: Iterator[bytes], recipients: Iterable[str]) -> Iterator[bytes]:
    """`chunks` as one sealed stream. Memory stays constant; an error of `chunks` comes through as it is."""
    keys = _recipients(recipients)
    reader = ChunkReader(chunks)

    def feed(writer: BinaryIO) -> None:
        try:
            pyrage.encrypt_io(reader, writer, keys)
        except (pyrage.EncryptError, OSError) as error:
            raise reader.error or error from None

    with piped(feed) as source:
        while chunk := source.read(_CHUNK):
            yield chunk


def decrypt_into(sink: Sink, chunks: Iterator[bytes], identity: str, what: str) -> None:
    """Opens the sealed stream `chunks` into `sink`; an error of `chunks` comes through as it is.

    What was written is authentic up to where it ends, and complete only when this returns.
    Raises AgeKeyInvalid, WrongIdentity, SealBroken.
    """
    key = _identity(identity)
    reader = ChunkReader(chunks)
    try:
        pyrage.decrypt_io(reader, sink, [key])
    except (pyrage.DecryptError, OSError) as error:
        if reader.error is not None:
            raise reader.error from None
        if isinstance(error, BrokenPipeError):
            raise
        raise _opening_failed(error, what) from error


def _opening_failed(error: Exception, what: str) -> WrongIdentity | SealBroken:
    # pyrage has one exception for both; its text is age's own and has been the same since its first release.
    return WrongIdentity(what) if "No matching keys" in str(error) else SealBroken(what)


def _identity(identity: str) -> x25519.Identity:
    try:
        return x25519.Identity.from_str(identity.strip())
    except pyrage.IdentityError:
        raise AgeKeyInvalid("identity") from None


def _recipient(recipient: str) -> x25519.Recipient:
    try:
        return x25519.Recipient.from_str(recipient.strip())
    except pyrage.RecipientError:
        raise AgeKeyInvalid("recipient") from None


def _recipients(recipients: Iterable[str]) -> list[x25519.Recipient]:
    keys = [_recipient(r) for r in recipients]
    if not keys:
        raise AgeKeyInvalid("recipient")
    return keys
