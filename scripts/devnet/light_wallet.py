"""A wallet as `leasehold wallet new` makes it, but for the work that its password costs.

That work is what protects a wallet: scrypt at a second or more for every file that is sealed and for every command that
opens one. A test that starts hundreds of commands spends most of its processor on it, and learns nothing by it where
what it shows is another thing. Both files are the ones that the product reads: a V3 keystore, and an age key.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import os
from pathlib import Path

from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from leasehold.chain import Keystore
from leasehold.datasets import new_identity, recipient_of
from leasehold.files import make_private

KEYSTORE_WORK = 2  # scrypt's N
AGE_WORK = 1  # log2 of it
_ZERO, _LAST = bytes(12), bytes(11) + b"\x01"


def light_wallet(keys: Path, name: str, password: str, key: bytes | None = None) -> str:
    """Writes both files of a new wallet into the folder `keys`; its address.

    key: its private key, 32 bytes; a new one unless given
    """
    identity = new_identity()
    signer = asyncio.run(Keystore(keys, iterations=KEYSTORE_WORK).new(name, password, key=key))
    make_private(keys / f"{name}.age", sealed_by_password(identity.encode(), password))
    (keys / f"{name}.pub").write_text(recipient_of(identity) + "\n")
    return signer.address


def sealed_by_password(text: bytes, password: str) -> bytes:
    """An age file of one chunk for one password: https://age-encryption.org/v1."""
    salt, nonce, file_key = os.urandom(16), os.urandom(16), os.urandom(16)
    wrapping = hashlib.scrypt(
        password.encode(), salt=b"age-encryption.org/v1/scrypt" + salt, n=1 << AGE_WORK, r=8, p=1, dklen=32
    )
    body = _base64(ChaCha20Poly1305(wrapping).encrypt(_ZERO, file_key, None))
    header = f"age-encryption.org/v1\n-> scrypt {_base64(salt)} {AGE_WORK}\n{body}\n---".encode()
    mac = hmac.digest(_derived(file_key, b"", b"header"), header, "sha256")
    sealed = ChaCha20Poly1305(_derived(file_key, nonce, b"payload")).encrypt(_LAST, text, None)
    return header + f" {_base64(mac)}\n".encode() + nonce + sealed


def _derived(secret: bytes, salt: bytes, info: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=salt, info=info).derive(secret)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode().rstrip("=")
