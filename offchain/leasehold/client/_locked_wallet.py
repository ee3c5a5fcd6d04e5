"""A wallet whose password is asked for when it is needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from leasehold.chain import KeyInfo, Keystore, Signer, TypedData

Password = str | Callable[[str], str]
"""A wallet's password, or what is asked for it by the wallet's name when something is first signed."""


class LockedWallet:
    """A wallet of a keystore that asks for its password when something is to be signed, and not before."""

    def __init__(self, keystore: Keystore, wallet: KeyInfo, password: Password) -> None:
        self._keystore = keystore
        self._wallet = wallet
        self._password = password
        self._opened: Signer | None = None

    @property
    def address(self) -> str:
        """The wallet's account."""
        return self._wallet.address

    @property
    def name(self) -> str:
        """What it is called in its keystore."""
        return self._wallet.name

    def password(self) -> str:
        """Its password, asked for once."""
        if callable(self._password):
            self._password = self._password(self.name)
        return self._password

    async def unlock(self) -> Signer:
        """The open key; the second time without asking. Raises WrongPassword."""
        if self._opened is None:
            self._opened = await self._keystore.unlock(self.name, self.password())
        return self._opened

    async def sign_transaction(self, transaction: Mapping[str, int | str | bytes]) -> bytes:
        """As `Signer`."""
        return await (await self.unlock()).sign_transaction(transaction)

    async def sign_typed_data(self, message: TypedData) -> bytes:
        """As `Signer`."""
        return await (await self.unlock()).sign_typed_data(message)
