"""What is said before a lease is ended is what the contract then takes, to the unit, in every state of a lease."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .conftest import Cli, Host, Pool
from .test_faults import OPERATOR
from .test_moving import RENTER, WISH, add_wallet


def standing_still(pool: Pool, seconds: int) -> None:
    """The chain goes on by so many seconds, and from then on its time stands."""
    pool.anvil.advance(seconds)
    pool.anvil.request("anvil_setBlockTimestampInterval", 0)


def opened(cli: Cli, host: Host, pool: Pool) -> None:
    standing_still(pool, 600)


def too_late(cli: Cli, host: Host, pool: Pool) -> None:
    standing_still(pool, 1_801)


def opened_on_a_machine_that_is_down(cli: Cli, host: Host, pool: Pool) -> None:
    pool.anvil.advance(300)
    cli("provider", "report", "1", "--yes", wallet=OPERATOR)
    standing_still(pool, 400)


def in_its_trial(cli: Cli, host: Host, pool: Pool) -> None:
    host.start()
    standing_still(pool, 300)


def running(cli: Cli, host: Host, pool: Pool) -> None:
    host.start()
    standing_still(pool, 4_000)


def past_its_end(cli: Cli, host: Host, pool: Pool) -> None:
    host.start()
    standing_still(pool, 30_000)


def down(cli: Cli, host: Host, pool: Pool) -> None:
    host.start()
    pool.anvil.advance(2_000)
    cli("provider", "report", "1", "--yes", wallet=OPERATOR)
    standing_still(pool, 3_000)


def back_and_held(cli: Cli, host: Host, pool: Pool) -> None:
    down(cli, host, pool)
    cli("provider", "recover", "1", "--yes", wallet=OPERATOR)


STATES: dict[str, tuple[Callable[[Cli, Host, Pool], None], str, str]] = {
    "opened": (opened, "rejected", "a hold fee"),
    "past the start window": (too_late, "cancelled", "all of its 5 TUSD come back"),
    "opened, machine down": (opened_on_a_machine_that_is_down, "rejected", "a hold fee"),
    "in its trial": (in_its_trial, "ended", "leasehold reject 1"),
    "running": (running, "ended", "has used"),
    "past its end": (past_its_end, "ended", "has used 5 TUSD"),
    "an outage runs": (down, "ended", "has used"),
    "an outage is over": (back_and_held, "ended", "Outage 1 is taken off its bill first"),
}


@pytest.fixture
def lease(market: Cli, pool: Pool) -> Cli:
    add_wallet(market, pool, OPERATOR, 3)
    market("rent", "--for", "2h", *WISH, "--no-wait", wallet=RENTER)
    return market


@pytest.mark.slow
@pytest.mark.parametrize(("bring", "becomes", "says"), STATES.values(), ids=STATES.keys())
def test_closing_takes_what_was_said(
    lease: Cli, host: Host, pool: Pool, bring: Callable[[Cli, Host, Pool], None], becomes: str, says: str
) -> None:
    bring(lease, host, pool)
    shown = lease("show", "1", "--json", wallet=RENTER).json
    dry = lease("close", "1", "--dry-run", "--json", wallet=RENTER)
    assert says in dry.err
    assert dry.json["becomes"] == becomes
    if bring is not back_and_held:  # `show` says what is on the bill, and the outage is not off it yet
        assert (shown["used"], shown["unused"]) == (dry.json["used"], dry.json["unused"])
    closed = lease("close", "1", "--yes", "--json", wallet=RENTER).json
    assert closed["state"] == becomes
    assert closed["refunded"] == dry.json["unused"]
    assert closed["taken"] == dry.json["used"]
    assert lease("wallet", "balance", "--json", wallet=RENTER).json["ledger"] == dry.json["unused"]


@pytest.mark.slow
def test_rejecting_takes_what_was_said_and_is_refused_when_it_is_too_late(
    lease: Cli, host: Host, pool: Pool
) -> None:
    in_its_trial(lease, host, pool)
    dry = lease("reject", "1", "--dry-run", "--json", wallet=RENTER).json
    before = pool.anvil.snapshot()
    rejected = lease("reject", "1", "--yes", "--json", wallet=RENTER).json
    assert (rejected["taken"], rejected["refunded"]) == (dry["cost"], dry["back"])
    pool.anvil.revert(before)
    pool.anvil.advance(3_600)
    late = lease("reject", "1", "--dry-run", wallet=RENTER, ok=False)
    assert late.code == 4
    assert "close it instead" in late.err
