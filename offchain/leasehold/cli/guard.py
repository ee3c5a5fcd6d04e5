"""`leasehold guard`: leases that are looked after while nobody is there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any

import typer

from leasehold.cli._carrying_out import open_session
from leasehold.cli._command import (
    ANSWERS,
    FOR_ACCOUNT,
    PASSWORD_FILE,
    SENDS,
    SIGNS,
    WALLET,
    Invocation,
    shared,
)
from leasehold.cli._guard_unit import keep_environment, unit_of
from leasehold.cli._hints import said
from leasehold.errors import SettingsError
from leasehold.guard import ChannelTried, Guard, GuardLooked, GuardSettings, channels_of, try_channels
from leasehold.home import GUARD, read_config
from leasehold.market import Json, format_time


@shared(SIGNS | FOR_ACCOUNT, "run")
async def run_guard(call: Invocation) -> None:
    """Look after the wallet's leases until somebody ends it: warn, extend, challenge, recover, as config.toml says.

    A second one waits, and takes over when the first is gone. With `--for-account` as a delegate, whose cap the
    contract keeps. `leasehold guard unit` prints a unit for systemd.
    """
    async with _guarding(call) as guard:
        call.out.if_interrupted = "Interrupted: nobody looks after the leases any more."
        async with AsyncExitStack() as stack:
            with call.out.working("Waiting for the guard that is at work"):
                await stack.enter_async_context(guard.term_begun())
            call.out.say("The guard is at work.")
            async for looked in guard.looks():
                _say(call, looked)


@shared(SENDS | FOR_ACCOUNT)
async def once(call: Invocation) -> None:
    """One look, with all that it leads to, as from cron. With `--dry-run` nothing is told, sent or remembered."""
    async with _guarding(call) as guard:
        if call.dry_run:
            looked = await guard.seen()
        else:
            async with guard.term_begun(waits=False) as begun:
                if not begun:
                    call.out.answer({"at_work": True})
                    call.out.say("Another guard is at work: nothing was done.")
                    return
                looked = await guard.once()
        call.out.answer({**looked.to_json(guard.client.money), "dry_run": call.dry_run})
        _say(call, looked, every=True)


@shared(ANSWERS | WALLET | FOR_ACCOUNT)
async def status(call: Invocation) -> None:
    """Say whether a guard of this home is at work, when it looked last, and what waits to be told."""
    _settings(call)
    notes = call.home.guard_notes(call.deployment, call.account or call.chosen().address)
    known, held = notes.load(), notes.held
    waiting = sorted({entry.channel for entry in known.pending})
    document: dict[str, Json] = {
        "at_work": held,
        "looked": known.looked or None,
        "watched": len(known.watched),
        "standing": sorted(cause for cause, standing in known.told.items() if not standing.over),
        "waiting": len(known.pending),
        "dropped": known.dropped,
        "trouble": known.trouble or None,
    }
    call.out.sheet(
        document,
        "The guard",
        (
            ("at work", "yes" if held else "no"),
            ("looked last", format_time(known.looked) if known.looked else "never"),
            ("leases", str(len(known.watched))),
            ("stands", ", ".join(map(str, document["standing"])) or "nothing"),  # type: ignore[arg-type]
            ("to be told", f"{len(known.pending)} by {', '.join(waiting)}" if waiting else "nothing"),
            ("trouble", known.trouble or "none"),
        ),
    )


@shared(ANSWERS)
async def test(call: Invocation) -> int:
    """Send a test alert by each channel that is set. It leaves with 0 where all took it, else with 1."""
    tried = [one async for one in try_channels(_settings(call))]
    call.out.answer([_tried_json(one) for one in tried])
    for one in tried:
        call.out.say(f"{one.channel}: {said(one.problem) if one.problem else 'it took the alert'}")
    return 1 if any(one.problem for one in tried) else 0


@shared(ANSWERS | WALLET | PASSWORD_FILE | FOR_ACCOUNT)
async def unit(call: Invocation) -> None:
    """Print a unit for systemd: `leasehold guard unit > ~/.config/systemd/user/leasehold-guard.service`.

    Then `systemctl --user enable --now leasehold-guard`, and `loginctl enable-linger`, so that it runs without you. The
    nodes' addresses, which may hold a key, go to `guard/unit.env` in your home, for you alone.
    """
    if call.password_file is None:
        raise SettingsError("A guard asks nobody for a password", "name a file with it by --password-file.")
    text, environment = unit_of(call), keep_environment(call)
    call.out.answer({"unit": text, "environment": str(environment)})
    if not call.out.as_json:
        typer.echo(text, nl=False)


def _settings(call: Invocation) -> GuardSettings:
    """Raises GuardSettingWrong."""
    table = read_config(call.settings.home).get(GUARD, {})
    if not isinstance(table, Mapping):
        raise SettingsError("`guard` in config.toml is no table", "write it as [guard].")
    return GuardSettings.of(table)


@asynccontextmanager
async def _guarding(call: Invocation) -> AsyncIterator[Guard]:
    settings = _settings(call)
    async with open_session(call, signs=True) as client:
        if call.account is None or call.dry_run:
            yield Guard(client, settings, channels_of(settings))
            return
        async with open_session(replace(call, account=None), signs=True) as plain:
            yield Guard(client, settings, channels_of(settings), plain)


def _say(call: Invocation, looked: GuardLooked, *, every: bool = False) -> None:
    for alert in looked.alerts if every else looked.new:
        call.out.say(alert.said)
    if every and not looked.alerts:
        call.out.say("All is well.")
    for deed in looked.deeds if call.dry_run else ():
        told: dict[str, Any] = deed.to_json()
        what = told["lease"] or told["run"] or told["machine"] or "what faults left"
        call.out.say(f"Would {str(deed.do).replace('-', ' ')}: {what}.")


def _tried_json(one: ChannelTried) -> dict[str, Json]:
    return {
        "channel": one.channel,
        "works": one.problem is None,
        "said": None if one.problem is None else said(one.problem),
    }
