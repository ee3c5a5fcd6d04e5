"""Searching, sorting and choosing among machines: pure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leasehold.chain import Lease, LeaseState, Machine, MachineStatus, Terms
from leasehold.cli._hints import why_declined
from leasehold.client._rent import _fenced
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
    lacking,
    parse_search,
    settleable,
    sort,
)
from leasehold.workload import load_workload

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
        ("class:a100-80g", [1]),
        ("a100-80g", [1]),
        ("isolation:whole", [1]),
        ("-isolation:mig", [1, 2, 3]),
        ("pcie>=1 nvlink>=1 numa>=1 capability>=1 cuda>=1 rdma:no down>=0 disk_speed>=0", []),
    ],
)
def test_every_field_can_be_searched(text: str, ids: list[int]) -> None:
    query = parse_search(text)
    assert [each.id for each in (FULL, BARE, CPU) if query.matches(each)] == ids


def host(gpus: list[dict[str, object]], *, id_: int = 5, measured: object = None, **facts: object) -> Listing:
    """A machine with these cards."""
    cards = [{"model": "NVIDIA H100 80GB HBM3", "memory_bytes": 85_520_809_984, **gpu} for gpu in gpus]
    hardware = Hardware.model_validate({**HARDWARE.model_dump(), "gpus": cards, **facts})
    contact = Contact.model_validate({**CONTACT.model_dump(), "measured": measured})
    return Listing(replace(MACHINE, id=id_), MONEY, hardware, contact)


def gpu(name: str, *peers: str, generation: int = 5, numa: int = 0, **facts: object) -> dict[str, object]:
    return {
        "uuid_hash": name,
        "pcie": {"generation": generation, "lanes": 16},
        "numa": numa,
        "peers": [{"uuid_hash": peer, "links": 18} for peer in peers],
        "mig": {"capable": True, "enabled": True},
        "ecc": True,
        "capability": "9.0",
        **facts,
    }


SERVER = host(
    [gpu("a", "b"), gpu("b", "a"), gpu("c", "d", numa=1), gpu("d", "c", generation=4, numa=1)],
    driver="570.86.10",
    cuda="12.8",
    isolation=["whole", "mig"],
    rdma=[{"name": "mlx5_0", "gbits": 400}],
    measured={"at": 1, "disk": {"read": 3 * 10**9, "write": 12 * 10**8}, "down": 940_000_000, "up": 1},
)
GAMING = host(
    [
        {
            "model": "NVIDIA GeForce RTX 4090",
            "memory_bytes": 25_757_220_864,
            **gpu("e", generation=3, ecc=False),
        }
    ],
    id_=6,
    driver="550.54.15",
    cuda="12.4",
    isolation=["mps", "cooperative"],
    fault_domain="card",
    rdma=[],
    measured={"down": 50_500_000},
)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("isolation:mig", [5]),
        ("isolation:mps", [6]),
        ("isolation:mig,cooperative", [5, 6]),
        ("isolation:mps -isolation:cooperative", []),
        ("fault_domain:card", [6]),
        ("fault_domain:share", [1]),
        ("isolation:whole", [1, 5]),
        ("cuda>=12.8", [5]),
        ("cuda>=12.10", []),
        ("cuda:12", [5, 6]),
        ("driver>=550.54.15", [5, 6]),
        ("driver<570", [6]),
        ("pcie>=4", [5]),
        ("pcie>=5", []),  # one of its cards sits in a slower slot
        ("lanes:16 numa:1", [6]),
        ("numa:2 nvlink:2", [5]),
        ("nvlink:1", [6]),
        ("ecc:yes", [5]),
        ("ecc:no", [6]),
        ("capability>=8.9", [5, 6]),
        ("rdma:yes", [5]),
        ("rdma:no", [6]),
        ("down>=500", [5]),
        ("down>=50.5", [5, 6]),
        ("up>=0", [5]),
        ("disk_speed>=1200", [5]),
        ("disk_speed>=2GB", []),
        ("class:h100-80g", [5]),
        ("class=rtx-4090-24g", [6]),
    ],
)
def test_a_search_finds_hosts_by_what_they_say_of_their_cards(text: str, ids: list[int]) -> None:
    query = parse_search(text)
    assert [listing.id for listing in (FULL, SERVER, GAMING) if query.matches(listing)] == ids


PARTS_ARE_TIME = "ask for `time-slice` by name"
LIMITS_ARE_KEPT_TO = "ask for `mps` by name"


@pytest.mark.parametrize(
    ("isolation", "share", "cells", "missing"),
    [
        (["mig"], "mig", 4, None),
        (["mig"], "mig", 8, None),
        (["mig"], None, 1, None),
        (["mig"], "time-slice", 4, "`cells`, not `time-slice`"),
        (["time-slice"], "time-slice", 4, None),
        (["time-slice"], None, 4, PARTS_ARE_TIME),
        (["time-slice"], "cells", 4, PARTS_ARE_TIME),
        (["time-slice"], "mig", 4, "`cells`, not `mig`"),
        (["time-slice"], "time-slice", 8, "`whole`, not `time-slice`"),
        (["time-slice"], None, 8, None),
        (["mps"], None, 4, None),
        (["mps"], "cells", 4, None),
        (["mps"], "mps", 4, None),
        (["mps"], "mps", 8, "`whole`, not `mps`"),
        (["mps"], "mig", 4, "`cells`, not `mig`"),
        (["mps"], "time-slice", 4, "`cells`, not `time-slice`"),
        (["mps", "cooperative"], "mps", 4, None),
        (["mps", "cooperative"], None, 4, LIMITS_ARE_KEPT_TO),
        (["mps", "cooperative"], "cells", 4, LIMITS_ARE_KEPT_TO),
        (["mps", "cooperative"], None, 8, None),
        (["mig"], "mps", 4, "`cells`, not `mps`"),
        (None, "mps", 4, None),
        (["whole"], "mig", 8, "`whole`, not `mig`"),
        ([], "time-slice", 4, "`cells`, not `time-slice`"),
        (None, "mig", 4, None),
        (None, "time-slice", 4, None),
        (None, "time-slice", 8, "`whole`, not `time-slice`"),
        (None, "whole", 4, "`cells`, not `whole`"),
    ],
)
def test_a_share_is_refused_before_it_is_paid_for(
    isolation: list[str] | None, share: str | None, cells: int, missing: str | None
) -> None:
    """Without a hardware document the agent decides; what no agent would take is refused all the same."""
    machine = BARE if isolation is None else host([gpu("a")], isolation=isolation)
    asked = load_workload({"version": 1, "image": "sha256:" + "1" * 64, "share": share})
    found = lacking(machine, asked, cells)
    assert (found is None) == (missing is None)
    assert (missing or "") in (found or "")


def test_cards_of_several_classes_are_of_none() -> None:
    """Who shows his best card first leases out the others too."""
    mixed = host([gpu("a"), {**gpu("b"), "model": "Tesla T4", "memory_bytes": 15 << 30}])
    assert mixed.card_class is None
    assert not parse_search("class:h100").matches(mixed)


def test_what_one_card_does_not_say_is_not_known_of_the_machine() -> None:
    half = host([gpu("a"), {"uuid_hash": "b"}])
    for text in ("pcie>=0", "lanes>=0", "numa>=0", "nvlink>=0", "capability>=0", "ecc:yes", "ecc:no"):
        assert not parse_search(text).matches(half), text


def test_cards_joined_by_way_of_others_count_and_links_to_none_do_not() -> None:
    ring = host([gpu("a", "b", "z"), gpu("b", "c"), gpu("c"), gpu("d")])
    assert parse_search("nvlink:3").matches(ring)


def test_versions_are_sorted_as_versions() -> None:
    assert [listing.id for listing in sort([SERVER, GAMING, FULL], "driver")] == [6, 5, 1]
    assert [listing.id for listing in sort([GAMING, SERVER, FULL], "-cuda")] == [5, 6, 1]


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


def lending(**egress: object) -> Listing:
    """A machine that measured 900 and 400 Mbit a second, and has a policy of its own."""
    measured = {"down": 900_000_000, "up": 400_000_000}
    document = CONTACT.model_dump() | {"measured": measured, "egress": {"policy": "residential", **egress}}
    return replace(FULL, contact=Contact.model_validate(document))


def test_what_a_host_lends_of_its_line_is_found_and_said() -> None:
    home = lending(refused_ports=[25], destinations=60, down=50_000_000, up=500_000_000)
    for text in ("egress:residential", "down:50", "up:400"):
        assert parse_search(text).matches(home), text
    for text in ("egress:internet", "down>=100"):
        assert not parse_search(text).matches(home), text
    assert not parse_search("egress:internet").matches(FULL), "who says nothing is not known"
    assert home.contact is not None
    assert home.contact.egress is not None
    assert home.contact.egress.words == (
        "no port 25 is reached",
        "at most 60 new addresses and ports in a minute",
        "50 Mbit/s down",
        "500 Mbit/s up",
    )


@pytest.mark.parametrize(
    ("mode", "policy", "said"),
    [
        ("internet", "none", "On machine 1's network: it lets nothing out."),
        ("none", "none", None),
        ("internet", "internet", None),
    ],
)
def test_a_renter_hears_what_he_would_miss(mode: str, policy: str, said: str | None) -> None:
    workload = load_workload(
        {"version": 1, "image": "sha256:" + "ab" * 32, "command": ["true"], "egress": mode}
    )
    cautions = _fenced([lending(policy=policy), FULL], workload)
    assert cautions == ((said,) if said else ())
