"""A wallet whose key is in a Ledger, which asks its owner for each signature.

Nothing that comes back is believed: a signature counts if it is the wallet's own over exactly what was asked for, by
the hash that this process has computed. What a way to the device can still do is to show its owner something else and
keep what he signs then: so it is said here what the device has to show, before it shows it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from eth_utils.address import to_canonical_address
from eth_utils.crypto import keccak

from leasehold.chain import TypedData
from leasehold.errors import ProofMalformed, WalletError
from leasehold.hardware._app import DeviceSignature, EthereumApp, Patience
from leasehold.hardware._errors import AnswerFalse, OtherDevice
from leasehold.hardware._path import USUAL_PATH, packed_path
from leasehold.hardware._transport import Transport
from leasehold.hardware._typed_commands import NotShowable, typed_commands

if TYPE_CHECKING:
    from eth_account.messages import SignableMessage

Tell = Callable[[str], None]
Opening = Callable[[], AbstractAsyncContextManager[Transport]]
_DYNAMIC_FEE = 2  # EIP-1559's transaction type
_FIRST_WITH_FIELDS = (1, 9, 19)
"""The first release of the app that hashes typed data itself."""


async def ask_address(
    opening: Opening,
    path: str = USUAL_PATH,
    *,
    tell: Tell = lambda text: None,
    patience: Patience | None = None,
) -> str:
    """The account at a path of the device, once its owner has compared it on the device's own screen.

    tell: is told what that has to show. Raises HardwareError.
    """
    packed_path(path)  # before anything is asked
    async with opening() as transport:
        app = EthereumApp(transport, patience or Patience())
        await app.configuration()
        address = await app.address(path)
        tell(f"Your Ledger shows an address now: agree there only if it is {address}.")
        if await app.address(path, shown=True) != address:
            raise AnswerFalse("two addresses for one path")
        return address


class LedgerSigner:
    """Signs as `Signer` does, by asking. address: the wallet's. path: where the device has it.

    opening: makes the way to the device, for one conversation. tell: is told what its owner is asked, and what the
    device has to show.
    """

    def __init__(
        self,
        address: str,
        path: str,
        opening: Opening,
        *,
        tell: Tell = lambda text: None,
        patience: Patience | None = None,
    ) -> None:
        self._address = address
        self._path = path
        self._opening = opening
        self._tell = tell
        self._patience = patience or Patience()
        self._turn = asyncio.Lock()

    asks_each_time = True

    def __repr__(self) -> str:
        return f"LedgerSigner({self._address}, {self._path})"

    @property
    def address(self) -> str:
        """The account, checksummed."""
        return self._address

    async def check(self) -> None:
        """Whether the device is there and has the wallet. Raises HardwareError."""
        async with self._conversation():
            pass

    async def sign_transaction(self, transaction: Mapping[str, int | str | bytes]) -> bytes:
        """As `Signer`, of EIP-1559's type. Raises HardwareError, WalletError for another type."""
        fields = _fields(transaction)
        payload = _typed(fields)
        digest, to, chain = keccak(payload), str(transaction["to"]), int(transaction["chainId"])
        async with self._conversation() as app:
            self._tell(
                f"Your Ledger shows a transaction to {to} on chain {chain}: approve it "
                f"there, and where it shows a hash only if it is 0x{digest.hex()}."
            )
            signature = await app.sign_transaction(self._path, payload)
        if signature.v not in (0, 1):
            raise AnswerFalse(f"a transaction's signature with v {signature.v}")
        self._check(digest, signature, signature.v + 27)
        r, s = (int.from_bytes(part, "big") for part in (signature.r, signature.s))
        return _typed([*fields, *map(_minimal, (signature.v, r, s))])

    async def sign_message(self, message: bytes) -> bytes:
        """65 bytes r, s, v over a personal message (EIP-191). Raises HardwareError."""
        from eth_account.messages import encode_defunct

        digest = _digest(encode_defunct(primitive=message))
        async with self._conversation() as app:
            self._tell(
                f"Your Ledger shows a message of {len(message)} bytes: approve it there once you have read it."
            )
            return self._words(digest, await app.sign_message(self._path, message))

    async def sign_typed_data(self, message: TypedData) -> bytes:
        """As `Signer`. The device shows the message field by field where its app can, else two hashes.

        Raises HardwareError.
        """
        from eth_account.messages import encode_typed_data

        encoded = encode_typed_data(full_message=dict(message))
        async with self._conversation() as app:
            signature = await self._by_fields(app, message, encoded)
            if signature is None:
                self._tell(
                    f"Your Ledger cannot show what `{message['primaryType']}` says: approve it there only if the "
                    f"domain hash is 0x{encoded.header.hex()} and the message hash 0x{encoded.body.hex()}."
                )
                signature = await app.sign_hashes(self._path, encoded.header, encoded.body)
        return self._words(_digest(encoded), signature)

    async def _by_fields(
        self, app: EthereumApp, message: TypedData, encoded: SignableMessage
    ) -> DeviceSignature | None:
        """`None` where the app has no words for it. A small device shows the domain's fields, and of the message its
        hash, unless its owner has set that it shows all.
        """
        try:
            parts = typed_commands(message)
        except NotShowable:
            return None
        if (await app.configuration()).version < _FIRST_WITH_FIELDS:
            return None
        self._tell(
            f"Your Ledger shows `{message['primaryType']}` with its fields: approve it there once you have read it, "
            f"and where it shows a message hash only if it is 0x{encoded.body.hex()}."
        )
        return await app.sign_fields(self._path, parts)

    @contextlib.asynccontextmanager
    async def _conversation(self) -> AsyncIterator[EthereumApp]:
        """The app on the wallet's own device. Raises HardwareError."""
        async with self._turn, self._opening() as transport:
            app = EthereumApp(transport, self._patience)
            await app.configuration()
            if (address := await app.address(self._path)) != self._address:
                raise OtherDevice(address, self._path, self._address)
            yield app

    def _words(self, digest: bytes, signature: DeviceSignature) -> bytes:
        self._check(digest, signature, signature.v)
        return signature.r + signature.s + bytes([signature.v])

    def _check(self, digest: bytes, signature: DeviceSignature, v: int) -> None:
        """Raises AnswerFalse for a signature that is not the wallet's over the digest, in the one form that counts."""
        from leasehold.chain.typed import recover_signer

        try:
            signer = recover_signer(digest, signature.r + signature.s + bytes([v]))
        except ProofMalformed as error:
            raise AnswerFalse("no signature in the one form that counts") from error
        if signer != self._address:
            raise AnswerFalse("a signature of another key, or of something else")


def _fields(transaction: Mapping[str, int | str | bytes]) -> list[bytes | list[bytes]]:
    """EIP-1559's fields as RLP takes them. Raises WalletError for another type."""
    if transaction.get("type") != _DYNAMIC_FEE or transaction.get("accessList"):
        raise WalletError("A Ledger signs EIP-1559 transactions here, and no other", "build one of those.")
    numbers = ("chainId", "nonce", "maxPriorityFeePerGas", "maxFeePerGas", "gas")
    data = transaction["data"]
    return [
        *(_minimal(int(transaction[name])) for name in numbers),
        to_canonical_address(str(transaction["to"])),
        _minimal(int(transaction["value"])),
        data if isinstance(data, bytes) else bytes.fromhex(str(data).removeprefix("0x")),
        [],
    ]


def _typed(fields: list[bytes | list[bytes]]) -> bytes:
    import rlp

    return bytes([_DYNAMIC_FEE]) + bytes(rlp.encode(fields))


def _minimal(number: int) -> bytes:
    return number.to_bytes((number.bit_length() + 7) // 8, "big")


def _digest(message: SignableMessage) -> bytes:
    return keccak(b"\x19" + message.version + message.header + message.body)
