"""Who signs: the protocol that keystores, hardware wallets and tests serve, and a key in memory."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, cast

from eth_utils.address import to_checksum_address

if TYPE_CHECKING:
    from eth_account.signers.local import LocalAccount
    from eth_account.types import TransactionDictType

TypedData = Mapping[str, Any]
"""An EIP-712 message as `eth_signTypedData_v4` takes it: types, primaryType, domain, message."""


class Signer(Protocol):
    """Signs for one account. A hardware wallet may take its time: the methods are coroutines. One that has a person
    asked for each signature says so by an attribute `asks_each_time`.
    """

    @property
    def address(self) -> str:
        """The account, checksummed."""
        ...

    async def sign_transaction(self, transaction: Mapping[str, int | str | bytes]) -> bytes:
        """The signed transaction, ready to be sent. Fields are named as in JSON-RPC, numbers are ints.

        Raises WalletError when the holder of the key refuses.
        """
        ...

    async def sign_typed_data(self, message: TypedData) -> bytes:
        """65 bytes r, s, v over the EIP-712 digest of `message`, v 27 or 28, low s.

        Raises WalletError when the holder of the key refuses.
        """
        ...


class LocalSigner:
    """A private key in this process's memory: the key, or eth-account's `LocalAccount`."""

    def __init__(self, key: "bytes | str | LocalAccount") -> None:
        from eth_account import Account

        self._account: LocalAccount = Account.from_key(key) if isinstance(key, bytes | str) else key

    def __repr__(self) -> str:
        return f"LocalSigner({self.address})"

    @property
    def address(self) -> str:
        return str(self._account.address)

    async def sign_transaction(self, transaction: Mapping[str, int | str | bytes]) -> bytes:
        fields = dict(transaction)
        to = fields.get("to")
        if isinstance(to, str):
            fields["to"] = to_checksum_address(to)  # eth-account takes no other form
        return bytes(self._account.sign_transaction(cast("TransactionDictType", fields)).raw_transaction)

    async def sign_typed_data(self, message: TypedData) -> bytes:
        return bytes(self._account.sign_typed_data(full_message=dict(message)).signature)


def asks_each_time(signer: Signer) -> bool:
    """Whether somebody is asked to agree to each signature, and should be asked for none that can be done without."""
    return bool(getattr(signer, "asks_each_time", False))


def signer_of(wallet: "Signer | LocalAccount") -> Signer:
    """What signs: the wallet itself, or what makes one of eth-account's."""
    from eth_account.signers.local import LocalAccount

    return LocalSigner(wallet) if isinstance(wallet, LocalAccount) else wallet
