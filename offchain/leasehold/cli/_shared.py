"""Which options a command shares with others, said in one line; and how a command is called.

A command is an async function of its `Invocation` and of what it alone takes:

    @shared(SENDS | PROPOSES)
    async def stake(call: Invocation, machine: MachineId) -> None:

`shared` makes of it what Typer calls: a function with the shared options behind the command's own, which makes the
invocation and runs the command to its exit code. `Invocation.of` says what the shared options are, and in which order
they stand. A command's parameter whose type is a dataclass stands for one option for each field.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Concatenate, ParamSpec, get_type_hints

import typer

from leasehold.cli._invocation import Invocation
from leasehold.cli._run import run

P = ParamSpec("P")
Command = Callable[Concatenate[Invocation, P], Coroutine[object, object, int | None]]
Options = frozenset[str]

AS_GROUP = frozenset({"as_group"})
OF_GROUP = frozenset({"of_group"})
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


def shared(options: Options) -> Callable[[Command[P]], Callable[..., None]]:
    """Make a command of an async function, with these options besides its own."""
    assert options <= _KNOWN.keys(), options - _KNOWN.keys()
    taken = [each for name, each in _KNOWN.items() if name in options]

    def decorate(function: Command[P]) -> Callable[..., None]:
        _, *own = _parameters(function).values()
        bundles = {each.name: each.annotation for each in own if _is_bundle(each)}

        def command(ctx: typer.Context, *args: P.args, **kwargs: P.kwargs) -> None:
            given: dict[str, Any] = {each.name: kwargs.pop(each.name) for each in taken}
            call = Invocation.of(ctx, **given)
            for name, bundle in bundles.items():
                kwargs[name] = bundle(**{each.name: kwargs.pop(each.name) for each in fields(bundle)})
            run(
                function(call, *args, **kwargs),
                debug=call.given.debug,
                if_interrupted=lambda: call.out.if_interrupted,
            )

        context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
        _looks(command, function, [context, *(option for each in own for option in _spread(each)), *taken])
        return command

    return decorate


def _looks(
    command: Callable[..., None], function: Callable[..., object], parameters: Sequence[inspect.Parameter]
) -> None:
    """Give the command the function's name and text, and these parameters: no `__wrapped__` leads to the others."""
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(command, name, getattr(function, name))
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what inspect looks for first


def _parameters(function: Callable[..., object]) -> dict[str, inspect.Parameter]:
    """Its parameters, with annotations that are no texts."""
    hints = get_type_hints(function, include_extras=True)
    found = inspect.signature(function).parameters
    return {name: each.replace(annotation=hints[name]) for name, each in found.items()}


def _is_bundle(parameter: inspect.Parameter) -> bool:
    return isinstance(parameter.annotation, type) and is_dataclass(parameter.annotation)


def _spread(parameter: inspect.Parameter) -> Iterator[inspect.Parameter]:
    """What stands for the parameter on the command line."""
    if not _is_bundle(parameter):
        yield parameter
        return
    for each in _parameters(parameter.annotation).values():
        yield each.replace(kind=inspect.Parameter.KEYWORD_ONLY)


_KNOWN = _parameters(Invocation.of)
del _KNOWN["ctx"]
