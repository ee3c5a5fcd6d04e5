"""One run of one command: its options, its settings, its voice, its keys."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from leasehold import Deployment
from leasehold.cli._app import Globals
from leasehold.cli._asking import NobodyThere, ask_password
from leasehold.cli._options import (
    AsGroup,
    DryRun,
    ForAccount,
    JsonFlag,
    OfGroup,
    PasswordFile,
    ProposalPath,
    Wallet,
    Yes,
)
from leasehold.cli._output import Output
from leasehold.cli._settings import Settings, load_settings
from leasehold.errors import KeyMissing, SettingsError, WalletError
from leasehold.home import Home

if TYPE_CHECKING:
    from leasehold.chain import KeyInfo


@dataclass
class Invocation:
    """What a command was called with. Nothing is read or opened before it is asked for.

    group, account: whom it acts for, if not the wallet's own account: a group by name, or an account as it was typed
    whose delegate the wallet is. proposal: where a group's proposal is written; `None` for a new file here.
    """

    given: Globals
    out: Output
    wallet: str | None = None
    password_file: Path | None = None
    dry_run: bool = False
    group: str | None = None
    account: str | None = None
    proposal: Path | None = None
    name: str = "command"

    @classmethod
    def of(
        cls,
        ctx: typer.Context,
        *,
        for_account: ForAccount = None,
        as_group: AsGroup = None,
        of_group: OfGroup = None,
        proposal: ProposalPath = None,
        wallet: Wallet = None,
        password_file: PasswordFile = None,
        dry_run: DryRun = False,
        yes: Yes = False,
        as_json: JsonFlag = False,
    ) -> Invocation:
        """From Typer's context and those of the shared options that the command has, in the order in which help shows
        them (`shared` reads them here). A proposal moves nothing: no question is asked.
        """
        given = ctx.obj if isinstance(ctx.obj, Globals) else Globals()
        group = of_group if as_group is None else as_group
        out = Output(as_json=as_json, yes=yes or group is not None)
        name = ctx.info_name or "command"
        return cls(given, out, wallet, password_file, dry_run, group, for_account, proposal, name)

    @cached_property
    def settings(self) -> Settings:
        return load_settings(self.given)

    @cached_property
    def deployment(self) -> Deployment:
        """The pool's file, without asking its chain anything. Raises SettingsError."""
        if self.settings.deployment is None:
            raise SettingsError(
                "No pool is named: pass --deployment FILE before the command, or set LEASEHOLD_DEPLOYMENT."
            )
        return Deployment.load(self.settings.deployment)

    @cached_property
    def home(self) -> Home:
        """The folder with this person's things."""
        return Home(self.settings.home)

    def chosen(self) -> KeyInfo:
        """The wallet that is meant: the one named, else the setting's, else the only one.

        Raises:
            KeyMissing: no such wallet. WalletError: none, or several to choose from.
        """
        wallets = {wallet.name: wallet for wallet in self.home.keystore.list()}
        name = self.wallet or self.settings.wallet
        if name is not None:
            return self.known_wallet(name)
        if not wallets:
            raise WalletError("There is no wallet yet: make one with `leasehold wallet new NAME`.")
        if len(wallets) > 1:
            raise WalletError(f"There are several wallets: choose one of {', '.join(wallets)} with --wallet.")
        return next(iter(wallets.values()))

    def known_wallet(self, name: str) -> KeyInfo:
        """The wallet of that name. Raises KeyMissing."""
        for wallet in self.home.keystore.list():
            if wallet.name == name:
                return wallet
        raise KeyMissing(name)

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
            return ask_password(f"Password of wallet {name}", twice=choose)
        except NobodyThere:
            raise WalletError(
                f"There is nobody to ask for the password of wallet {name}: pass --password-file, "
                "or set LEASEHOLD_PASSWORD."
            ) from None
