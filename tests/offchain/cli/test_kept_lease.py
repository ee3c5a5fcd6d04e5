"""`rent --at-most`: paid for an hour, and kept by a guard as long as was said, for no more than was said."""

from __future__ import annotations

from pathlib import Path

import pytest

from leasehold.home import KeptLease, KeptLeases

from .conftest import Cli, Host, Pool
from .test_rent import IMAGE, lease_of

HOUR = 3_600
KEPT = ("rent", "--image", IMAGE, "--allow-unverified", "--yes", "--share", "1/4")


def test_it_says_what_it_costs_at_most_and_sends_nothing(market: Cli) -> None:
    told = market(*KEPT, "--at-most", "12h", "--dry-run", "--json", wallet="renter").json
    assert (told["duration"], told["deposit"]) == (HOUR, "0.625")
    assert (told["at_most"], told["cost_at_most"]) == (12 * HOUR, "7.5")
    shown = market(*KEPT, "--at-most", "12h", "--for", "30m", "--dry-run", wallet="renter")
    assert "until it has lasted 12h: 7.5 TUSD in all at most" in shown.out
    assert "No guard of yours is at work here" in shown.err
    assert not (market.home / "kept-leases").exists()


@pytest.mark.slow
def test_it_is_opened_for_its_first_time_and_extended_to_the_last_and_no_further(
    market: Cli, host: Host, pool: Pool
) -> None:
    with host.meanwhile(host.start):
        number = int(market(*KEPT, "--at-most", "150m", "--json", wallet="renter").json["number"])
    start = lease_of(pool, number).start
    ends = []
    for _ in range(4):
        pool.anvil.advance(HOUR - 400)
        market("guard", "once", "--json", wallet="renter")
        market("guard", "once", "--json", wallet="renter")  # another look changes nothing
        lease = lease_of(pool, number)
        ends.append(lease.end - start)
        if lease.end - start == 150 * 60:
            break
    assert ends == [2 * HOUR, 150 * 60]
    assert lease.deposit == 1_562_500 * 10**12  # 2.5 hours of a quarter at 2.5
    pool.anvil.advance(HOUR - 400)
    market("guard", "once", "--json", wallet="renter")
    assert lease_of(pool, number).end - start == 150 * 60


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--at-most", "1h", "--for", "2h"), "lasts longer than what is paid first"),
        (("--at-most", "soon"), "such as 90m"),
    ],
)
def test_bad_wishes_get_one_sentence(market: Cli, flags: tuple[str, ...], said: str) -> None:
    refused = market(*KEPT, *flags, wallet="renter", ok=False)
    assert refused.code == 2
    assert said in refused.err


class TestNotes:
    def test_what_is_damaged_or_another_machines_bounds_nothing(self, tmp_path: Path, pool: Pool) -> None:
        kept = KeptLeases(tmp_path, pool.deployment)
        kept.keep(9, KeptLease(1, 60, 600, 5))
        assert kept.get(9, 1) == KeptLease(1, 60, 600, 5)
        assert kept.get(9, 2) is None  # a number that a reorganisation gave to another
        assert kept.get(8, 1) is None
        (file,) = tmp_path.rglob("9")
        for damage in ("{", "[]", '{"machine": 1}', '{"machine": 1, "by": 60, "at_most": "1", "budget": 5}',
                       '{"machine": 1, "by": -60, "at_most": 1, "budget": 5}'):  # fmt: skip
            file.write_text(damage)
            assert kept.get(9, 1) is None
