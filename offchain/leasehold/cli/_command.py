"""Which options a command shares with others, said in one line; and how a command is called.

A command is an async function of its `Invocation` and of what it alone takes:

    @shared(SENDS | PROPOSES)
    async def stake(call: Invocation, machine: MachineId) -> None:

`shared` makes of it what Typer calls: a function with the shared options behind the command's own, which makes the
invocation and runs the command to its exit code. `Invocation.of` says what the shared options are, and in which order
they stand. A command's parameter whose type is a dataclass stands for one option for each field. The command is called
as the function is, or as `shared` is told; its file's place in `GROUPS` (`_lazy.py`) says where it stands.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, Final, ParamSpec, get_args, get_type_hints

import typer
from typer.core import TyperCommand

from leasehold import Deployment
from leasehold.cli._asking import NobodyThere, ask_password
from leasehold.cli._options import (
    AsGroup,
    AsSafe,
    DryRun,
    ForAccount,
    Globals,
    JsonFlag,
    OfGroup,
    PasswordFile,
    ProposalPath,
    Read,
    Wallet,
    Yes,
)
from leasehold.cli._output import Output
from leasehold.cli._run import LoopFactory, run
from leasehold.cli._settings import Settings, load_settings
from leasehold.errors import KeyMissing, SettingsError, WalletError
from leasehold.home import Home, Kind

if TYPE_CHECKING:
    from leasehold.chain import KeyInfo
    from leasehold.client import SafeAt


def _safe(address: str) -> SafeAt:
    from leasehold.client import SafeAt  # here: help does without

    return SafeAt(address)


@dataclass
class Invocation:
    """What a command was called with. Nothing is read or opened before it is asked for.

    group, account: whom it acts for, if not the wallet's own account: a group by name or a Safe, or an account as it
    was typed whose delegate the wallet is. proposal: where a group's proposal is written; `None` for a new file here.
    asks: whether a password is asked for where none is given.
    """

    given: Globals
    out: Output
    wallet: str | None = None
    password_file: Path | None = None
    dry_run: bool = False
    group: str | SafeAt | None = None
    account: str | None = None
    proposal: Path | None = None
    name: str = "command"
    asks: bool = True

    @classmethod
    def of(
        cls,
        ctx: typer.Context,
        *,
        for_account: ForAccount = None,
        as_group: AsGroup = None,
        of_group: OfGroup = None,
        as_safe: AsSafe = None,
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
        named = of_group if as_group is None else as_group
        if named is not None and as_safe is not None:
            raise typer.BadParameter("Say --as-group or --as-safe, not both.")
        group = named if as_safe is None else _safe(as_safe)
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

    def named(self, kind: str, text: str) -> str:
        """The thing of a kind that a text means: what is called so at home, else what the text says itself.

        Raises:
            SettingsError: no pool is named, or the home's names are damaged.
        """
        if not self.home.path.joinpath("names").is_dir():
            return text
        deployment = self.deployment if Kind(kind).of_a_pool else None
        things = self.home.names(deployment).called(Kind(kind), text)
        return things[0] if things else text

    @property
    def is_guest(self) -> bool:
        """Whether there is no wallet here, and something that others have shared. Raises SettingsError."""
        named = self.wallet or self.settings.wallet or self.group or self.account
        if named or self.home.keystore.list():
            return False
        return bool(self.home.shared_access(self.deployment).received(int(time.time())))

    def chosen(self) -> KeyInfo:
        """The wallet that is meant: the one named, else the setting's, else the only one.

        Raises:
            KeyMissing: no such wallet. WalletError: none, or several to choose from.
        """
        name, wallets = self.wallet or self.settings.wallet, self.home.keystore.list()
        if name is not None:
            return self.known_wallet(name)
        if not wallets:
            raise WalletError("There is no wallet yet: make one with `leasehold wallet new NAME`.")
        if len(wallets) > 1:
            names = ", ".join(wallet.name for wallet in wallets)
            raise WalletError(f"There are several wallets: choose one of {names} with --wallet.")
        return wallets[0]

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
            return self.settings.password
        try:
            if not self.asks:
                raise NobodyThere
            return ask_password(f"Password of wallet {name}", twice=choose)
        except NobodyThere:
            raise WalletError(
                f"There is nobody to ask for the password of wallet {name}: pass --password-file, "
                "or set LEASEHOLD_PASSWORD."
            ) from None


# ------------------------------------------------------------------------------------------------------- shared options

P = ParamSpec("P")
Command = Callable[Concatenate[Invocation, P], Coroutine[object, object, int | None]]
Options = frozenset[str]

AS_GROUP = frozenset({"as_group", "as_safe"})
OF_GROUP = frozenset({"of_group", "as_safe"})
PROPOSAL = frozenset({"proposal"})
WALLET = frozenset({"wallet"})
PASSWORD_FILE = frozenset({"password_file"})

ANSWERS = frozenset({"as_json"})
"""It answers people, or with `--json` a program. What is a wallet's own takes WALLET besides."""
SIGNS = ANSWERS | WALLET | PASSWORD_FILE | {"yes"}
"""It asks, and then signs or sends with the wallet's key."""
SENDS = SIGNS | {"dry_run"}
"""The same, or it shows what it would do."""
PROPOSES = AS_GROUP | PROPOSAL
"""It can be done as a group, whose proposal it then writes instead of sending."""
FOR_ACCOUNT = frozenset({"for_account"})
"""It can be done as an account's delegate."""


@dataclass(frozen=True)
class Verb:
    """A command as Typer takes it. settings: of Click's context. kind: how its words are read."""

    function: Callable[..., None]
    settings: Mapping[str, Any]
    kind: type[TyperCommand] = TyperCommand

    def put_into(self, app: typer.Typer, name: str) -> None:
        app.command(name, cls=self.kind, context_settings={**self.settings})(self.function)


VERBS: Final[dict[str, dict[str, Verb]]] = {}
"""The commands of each module that was loaded, by name, in the order in which they stand there."""


def shared(
    options: Options,
    name: str | None = None,
    kind: type[TyperCommand] = TyperCommand,
    loop: Callable[[], LoopFactory | None] = lambda: None,
    **settings: Any,
) -> Callable[[Command[P]], Callable[..., None]]:
    """Make a command of an async function, with these options besides its own. loop: says what makes its event loop."""
    assert options <= _KNOWN.keys(), options - _KNOWN.keys()
    taken = [parameter for known, parameter in _KNOWN.items() if known in options]

    def decorate(function: Command[P]) -> Callable[..., None]:
        _, *own = _parameters(function).values()
        options_of = {parameter.name: list(_spread(parameter)) for parameter in own}
        spread = [option for several in options_of.values() for option in several]
        readers = {option.name: reader for option in spread if (reader := _reader(option)) is not None}

        async def begun(call: Invocation, typed: dict[str, Any]) -> int | None:
            read = {
                word: readers[word](call, value) if word in readers else value
                for word, value in typed.items()
            }
            arguments: dict[str, Any] = {}
            for parameter in own:
                parts = {option.name: read[option.name] for option in options_of[parameter.name]}
                bundle = _is_bundle(parameter)
                arguments[parameter.name] = parameter.annotation(**parts) if bundle else parts[parameter.name]
            return await function(call, **arguments)  # type: ignore[call-arg]  # as its own signature says

        def command(ctx: typer.Context, **typed: Any) -> None:
            call = Invocation.of(ctx, **{parameter.name: typed.pop(parameter.name) for parameter in taken})
            interrupted = lambda: call.out.if_interrupted  # noqa: E731
            factory = loop()
            run(begun(call, typed), debug=call.given.debug, if_interrupted=interrupted, loop_factory=factory)

        context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
        _looks(command, function, [context, *map(_as_typed, spread), *taken])
        called = name or function.__name__.replace("_", "-")
        VERBS.setdefault(function.__module__, {})[called] = Verb(command, settings, kind)
        return command

    return decorate


def _looks(
    command: Callable[..., None], function: Callable[..., object], parameters: list[inspect.Parameter]
) -> None:
    """Give the command the function's name and text, and these parameters: no `__wrapped__` leads to the others."""
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(command, name, getattr(function, name))
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what inspect looks for first


def _parameters(function: Callable[..., object]) -> dict[str, inspect.Parameter]:
    """Its parameters, with annotations that are no texts."""
    hints, parameters = get_type_hints(function, include_extras=True), inspect.signature(function).parameters
    return {name: parameter.replace(annotation=hints[name]) for name, parameter in parameters.items()}


def _is_bundle(parameter: inspect.Parameter) -> bool:
    return isinstance(parameter.annotation, type) and is_dataclass(parameter.annotation)


def _spread(parameter: inspect.Parameter) -> Iterator[inspect.Parameter]:
    """What stands for the parameter on the command line."""
    if not _is_bundle(parameter):
        yield parameter
        return
    known = _parameters(parameter.annotation)
    for field in fields(parameter.annotation):
        yield known[field.name].replace(kind=inspect.Parameter.KEYWORD_ONLY)


def _reader(option: inspect.Parameter) -> Callable[[Invocation, Any], object] | None:
    """What makes of what Typer gives what the command takes; `None` where that is the same."""
    read = next((part for part in get_args(option.annotation) if isinstance(part, Read)), None)
    if read is None:
        return None

    def parsed(call: Invocation, text: str) -> object:
        return read.parse(text if read.named is None else call.named(read.named, text))

    if _is_tuple(option):
        return lambda call, texts: tuple(parsed(call, text) for text in texts or ())
    return lambda call, text: None if text is None else parsed(call, text)


def _as_typed(option: inspect.Parameter) -> inspect.Parameter:
    """The option as Typer is to read it: a text, or several."""
    if _reader(option) is None:
        return option
    _, *parts = get_args(option.annotation)
    text: Any = list[str] if _is_tuple(option) else str
    given = option.replace(default=None) if option.default == () else option
    return given.replace(annotation=Annotated[(text | None if given.default is None else text), *parts])


def _is_tuple(option: inspect.Parameter) -> bool:
    return str(get_args(option.annotation)[0]).startswith("tuple[")


_KNOWN = _parameters(Invocation.of)
del _KNOWN["ctx"]
