"""Searching, sorting and choosing among machines: pure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leasehold.chain import Lease, LeaseState, Machine, MachineStatus, Terms
from leasehold.cli._hints import why_declined
from leasehold.errors import ContractError
from leasehold.market import (
    Contact,
    Hardware,
    InvalidInput,
    Listing,
    MachineUnavailable,
    Money,
    NoMachineMatches,
    Wish,
    cells_of,
    choose,
    declined,
    parse_search,
    settleable,
    sort,
)

NOW = 1_800_000_000
MONEY = Money("USDT", 6)
TERMS = Terms(2_500_000, 0, 600, 86_400, 600, NOW // 86_400 + 30)
MACHINE = Machine(
    id=1, provider="0xAA", operator="0xBB", status=MachineStatus.VERIFIED, delisted=False, under_staked=False,
    stalled=False, gpus=2, revision=1, params=1, stake=10**8, busy=0, leased=0, withheld=0, retired_at=0, terms=TERMS,
)  # fmt: skip
HARDWARE = Hardware.model_validate(
    {
        "version": 1,
        "gpus": [{"model": "NVIDIA A100 80GB", "memory_bytes": 85 * 10**9}],
        "cpu": {"model": "EPYC", "cores": 16},
        "memory_bytes": 256 * 10**9,
        "disk": {"bytes": 10**12, "quota": True},
        "runtimes": ["runc"],
    }
)
CONTACT = Contact.model_validate(
    {
        "version": 1,
        "endpoints": [],
        "certificate": "",
        "age_recipient": "age1q",
        "images": [{"id": "sha256:1", "name": "cuda"}],
        "datasets": ["bafy1"],
        "location": {"country": "FR"},
    }
)
FULL = Listing(MACHINE, MONEY, HARDWARE, CONTACT)
BARE = Listing(replace(MACHINE, id=2, terms=replace(TERMS, price=1)), MONEY)
CPU = Listing(
    replace(MACHINE, id=3), MONEY, HARDWARE.model_copy(update={"gpus": (), "cpu_units": 2}), CONTACT
)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", [1, 2, 3]),
        ("kind:gpu", [1]),
        ("kind:cpu", [3]),
        ("-kind:gpu", [2, 3]),
        ("mem>=80", [1]),
        ("cpu>=16 ram>=256 disk>=1TB quota:yes runtime:runc", [1, 3]),
        ("image:cuda dataset:bafy1 country:fr", [1, 3]),
        ("cuda", [1, 3]),
        ("price<0.01", [2]),
        ("state:free verified:yes free=2 cells=16 gpus:2", [1, 2, 3]),
        ("max>=1d min<=10m trial=10m stake>=100 provider:0xaa id:1,2", [1, 2]),
        ("driver:5", []),
    ],
)
def test_every_field_can_be_searched(text: str, ids: list[int]) -> None:
    query = parse_search(text)
    assert [each.id for each in (FULL, BARE, CPU) if query.matches(each)] == ids


def test_states_are_told_apart() -> None:
    def state(**changes: object) -> str:
        listing = Listing(replace(MACHINE, **changes), MONEY)  # type: ignore[arg-type]  # a test's own fields
        return next(
            s for s in ("free", "busy", "closed", "retired") if parse_search(f"state={s}").matches(listing)
        )

    assert state() == "free"
    assert state(busy=0xFFFF) == "busy"
    assert state(stalled=True) == "closed"
    assert state(status=MachineStatus.RETIRED) == "retired"


def test_sorting_puts_what_lacks_the_field_last() -> None:
    listings = [CPU, BARE, FULL]
    assert [each.id for each in sort(listings, "price")] == [2, 1, 3]
    assert [each.id for each in sort(listings, "-price")] == [1, 3, 2]
    assert [each.id for each in sort(listings, "mem")] == [1, 2, 3]
    assert [each.id for each in sort(listings, "gpu")] == [1, 2, 3]
    for bad in ("image", "nothing"):
        with pytest.raises(InvalidInput, match="cannot be sorted"):
            sort(listings, bad)


def test_the_cheapest_that_fits_is_chosen_and_full_ones_first_among_equals() -> None:
    wish = Wish(8, 3_600)
    assert choose([FULL, BARE, CPU], wish, 1, NOW).id == 2
    fuller = Listing(replace(MACHINE, id=9, busy=0xFF), MONEY)
    assert choose([FULL, fuller], wish, 1, NOW).id == 9


def test_why_none_was_chosen() -> None:
    with pytest.raises(NoMachineMatches, match="widen the search"):
        choose([], Wish(8, 3_600), 1, NOW)
    with pytest.raises(MachineUnavailable, match="10m to 1d"):
        choose([FULL], Wish(8, 5), 1, NOW)
    with pytest.raises(NoMachineMatches, match=r"None of the 2 machines .* The cheapest: Machine 2"):
        choose([FULL, BARE], Wish(8, 5), 1, NOW)
    with pytest.raises(ContractError):
        choose([Listing(replace(MACHINE, status=MachineStatus.NONE), MONEY)], Wish(8, 3_600), 1, NOW)


def lease(number: int, placement: int, end: int) -> Lease:
    return Lease(
        id=number << 16, tenant="0xCC", machine=1, placement=placement, state=LeaseState.ACTIVE, spot=False,
        noticed=False, start=NOW - 7_200, end=end, deposit=1, price=1, revision=1, params=1, settled=0,
        backup=bytes(32),
    )  # fmt: skip


def test_as_few_leases_as_needed_are_settled() -> None:
    first, second = lease(1, 0x01FF, NOW - 10), lease(2, 0x02FF, NOW - 20)
    running = replace(MACHINE, busy=0xFFFF)
    machine, chosen = settleable(running, [first, second], Wish(8, 3_600), NOW)
    assert chosen == (2 << 16,)
    assert machine.busy == 0xFF
    assert settleable(running, [first, second], Wish(16, 3_600), NOW)[1] == (2 << 16, 1 << 16)
    assert settleable(running, [lease(1, 0x01FF, NOW + 1)], Wish(8, 3_600), NOW) == (running, ())
    assert settleable(MACHINE, [first], Wish(8, 3_600), NOW) == (MACHINE, ())
    kept_back = replace(running, withheld=0xFFFF)
    assert settleable(kept_back, [first, second], Wish(8, 3_600), NOW) == (kept_back, ())
    assert cells_of(0x0203) == 0x0300


def test_reasons_for_declining_are_explained() -> None:
    assert "leasehold dataset pin" in why_declined("dataset-missing")
    assert "pinned on a node that runs, then" in declined("dataset-missing")
    assert "'something-new'" in declined("something-new")
