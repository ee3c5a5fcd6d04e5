"""One run of one command: its options, its settings, its voice, its keys."""

from __future__ import annotations

from collections.abc import Coroutine
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import typer

from leasehold.chain import KeyInfo, Keystore
from leasehold.cli._acting import Acting
from leasehold.cli._age_keys import AgeKeys
from leasehold.cli._groups import Groups
from leasehold.cli._options import Globals
from leasehold.cli._output import Output
from leasehold.cli._run import run
from leasehold.cli._session import Session, open_session
from leasehold.cli._settings import Settings, load_settings
from leasehold.errors import KeyMissing, WalletError


@dataclass
class Invocation:
    """What a command was called with. Nothing is read or opened before it is asked for."""

    given: Globals
    out: Output
    wallet: str | None = None
    password_file: Path | None = None
    acting: Acting = field(default_factory=Acting)
    name: str = "command"

    @classmethod
    def of(
        cls,
        ctx: typer.Context,
        *,
        as_json: bool = False,
        yes: bool = False,
        wallet: str | None = None,
        password_file: Path | None = None,
        as_group: str | None = None,
        proposal: Path | None = None,
        for_account: str | None = None,
    ) -> Invocation:
        """From Typer's context and the options that the command has. A proposal moves nothing: no question is asked."""
        given = ctx.obj if isinstance(ctx.obj, Globals) else Globals()
        out = Output(as_json=as_json, yes=yes or as_group is not None)
        acting = Acting(as_group, for_account, proposal)
        return cls(given, out, wallet, password_file, acting, ctx.info_name or "command")

    @cached_property
    def settings(self) -> Settings:
        return load_settings(self.given)

    @property
    def keys(self) -> Path:
        """The folder of the keys."""
        return self.settings.home / "keys"

    @cached_property
    def keystore(self) -> Keystore:
        return Keystore(self.keys)

    @cached_property
    def groups(self) -> Groups:
        """The groups that are known here by name."""
        return Groups(self.settings.home)

    @cached_property
    def age_keys(self) -> AgeKeys:
        return AgeKeys(self.keys)

    def run(self, command: Coroutine[object, object, int | None]) -> None:
        """Run the command and leave with its exit code."""
        run(command, debug=self.given.debug)

    def chosen(self) -> KeyInfo:
        """The wallet that is meant: the one named, else the setting's, else the only one.

        Raises:
            KeyMissing: no such wallet. WalletError: none, or several to choose from.
        """
        wallets = {each.name: each for each in self.keystore.list()}
        name = self.wallet or self.settings.wallet
        if name is not None:
            if name not in wallets:
                raise KeyMissing(name)
            return wallets[name]
        if not wallets:
            raise WalletError("There is no wallet yet: make one with `leasehold wallet new NAME`.")
        if len(wallets) > 1:
            raise WalletError(f"There are several wallets: choose one of {', '.join(wallets)} with --wallet.")
        return next(iter(wallets.values()))

    def password(self, name: str, *, choose: bool = False) -> str:
        """The password of a wallet: from the file, the environment, or whoever sits at the terminal.

        Raises:
            WalletError: the file cannot be read, or there is nobody to ask.
        """
        if self.password_file is not None:
            try:
                return self.password_file.read_text().split("\n", 1)[0].rstrip("\r")
            except OSError as error:
                reason = error.strerror or "it cannot be read"
                raise WalletError(
                    f"{self.password_file}: {reason}; name another with --password-file."
                ) from error
        if self.settings.password is not None:
            return self.settings.password.get_secret_value()
        try:
            prompt = f"Password of wallet {name}"
            return str(typer.prompt(prompt, hide_input=True, confirmation_prompt=choose, err=True))
        except typer.Abort:
            raise WalletError(
                f"There is nobody to ask for the password of wallet {name}: pass --password-file, "
                "or set LEASEHOLD_PASSWORD."
            ) from None

    def session(self, *, signs: bool = False, account: bool = True) -> AbstractAsyncContextManager[Session]:
        """Everything that reaches the chain and IPFS. `signs` unlocks the wallet; without `account` none is needed."""
        return open_session(self, signs=signs, account=account)
