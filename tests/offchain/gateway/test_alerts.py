"""What a gateway tells of leases, and to whom: over a real index, and to receivers on loopback that are real, too."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import structlog
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from devnet.edges import Edge, answers, edge, request
from leasehold.chain import (
    Lease,
    LeaseClosed,
    LeaseDeclined,
    LeaseOpened,
    LeaseStarted,
    LeaseTerminated,
    LeaseTransferred,
    MachineWentDown,
    format_lease,
)
from leasehold.gateway import _watching as watching
from leasehold.gateway._gateway_tables import create_tables, recipients, state_engine
from leasehold.gateway._recipients import HeldRecipient, Recipients
from leasehold.gateway._watching import DAILY, Watching, Ways
from leasehold.guarding import WATCHED_KINDS, AlertKind, AlertReach, AlertRecipient, AlertWishes, LeaseFund
from leasehold.guarding._channels import Webhook
from leasehold.guarding._settings import KeepSettings

from .conftest import HOUR, NOW, OTHER, TENANT, TERMS, UNIT, World

ALL = frozenset(WATCHED_KINDS)
CODE = "ABCDE23456"


@dataclass
class Time:
    """unix seconds of the gateway's own clock."""

    now: float = NOW

    def __call__(self) -> float:
        return self.now


@dataclass
class Watch:
    """A gateway's watch over a world, and a webhook that is told."""

    world: World
    held: Recipients
    engine: AsyncEngine
    hook: Edge
    ways: Ways
    time: Time = field(default_factory=Time)
    answering: dict[int, bool] = field(default_factory=dict)
    hanging: set[int] = field(default_factory=set)
    fund: LeaseFund | None = None
    watching: Watching = field(init=False)

    def __post_init__(self) -> None:
        self.watching = self.another()

    def another(self, held: Recipients | None = None) -> Watching:
        """As a process that begins has it."""
        gateway = self.world.gateway
        return Watching(
            gateway.index, gateway.market, gateway.money, held or self.held, self.ways, self._asks,
            fund_of=self._fund_of, clock=self.time,
        )  # fmt: skip

    async def _asks(self, machine: int) -> bool | None:
        if machine in self.hanging:
            await asyncio.Event().wait()
        return self.answering.get(machine, True)

    async def _fund_of(self, lease: Lease) -> LeaseFund | None:
        return self.fund

    async def add(
        self,
        kinds: frozenset[AlertKind] = ALL,
        *,
        account: str = TENANT,
        confirmed: bool = True,
        id_: str = "a",
    ) -> str:
        to = AlertRecipient.model_validate({"way": "webhook", "address": f"{self.hook.url}/{id_}"})
        made = HeldRecipient(
            id_ * 22,
            account,
            to,
            "secret",
            "https://gate.example",
            id_ * 43,
            AlertWishes(kinds, HOUR),
            int(self.time()),
        )
        await self.held.add(made, CODE, stranger=False)
        if confirmed:
            assert await self.held.confirm(account, made.id, CODE, int(self.time()))
        return made.id

    async def look(self, seconds: float = 30) -> list[str]:
        """One look, so many seconds later; the kinds of what was told since the one before."""
        self.time.now += seconds
        before = len(self.hook.heard)
        await self.watching.look()
        return self.kinds()[before:]

    def told(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _, body in self.hook.heard]

    def kinds(self) -> list[str]:
        return [alert["kind"] for alert in self.told()]


@pytest.fixture
async def watch(world: World) -> AsyncIterator[Watch]:
    engine = state_engine(world.gateway.settings.state_url)
    await create_tables(engine)
    async with edge(answers("204 No Content")) as hook:
        ways = Ways(AlertReach(frozenset({f"127.0.0.1:{hook.port}"})), None)
        made = Watch(world, Recipients(engine), engine, hook, ways)
        await world.machine(7)
        yield made
        await made.watching.close()
    await engine.dispose()


async def opened(world: World, machine: int = 7, tenant: str = TENANT) -> int:
    """A lease that is opened and not started."""
    world.leases += 1
    lease = world.leases << 16
    await world.tell(
        (LeaseOpened, {"lease": lease, "machine": machine, "tenant": tenant, "placement": 0x1FF,
         "revision": 1, "params": 1, "price": 2 * UNIT, "duration": HOUR, "deposit": 2 * UNIT,
         "pulled": 2 * UNIT, "workload": b"w" * 32, "flags": 0, "backup": bytes(32)}),
    )  # fmt: skip
    return lease


# ------------------------------------------------------------------------------------------------------ what is told


async def test_a_lease_from_its_start_to_its_end_each_thing_once(watch: Watch) -> None:
    await watch.add()
    assert await watch.look() == []
    lease = await opened(watch.world)
    assert await watch.look() == []
    start = NOW + watch.world.head
    end = start + 3 * HOUR
    await watch.world.tell(
        (LeaseStarted, {"lease": lease, "machine": 7, "start": start + 1, "end": end, "endpoint": b"e" * 32})
    )
    assert await watch.look() == ["started"]
    assert await watch.look() == []
    watch.time.now = end - HOUR - 60
    assert await watch.look() == []
    assert await watch.look(60) == ["end-near"]
    assert await watch.look() == await watch.look() == []
    await watch.world.tell(
        (LeaseClosed, {"lease": lease, "machine": 7, "end": end, "paid": 1, "fee": 0, "refunded": 0})
    )
    assert await watch.look() == ["ended"]
    for _ in range(30):
        assert await watch.look() == []
    shown = format_lease(lease)
    assert [alert["lease"] for alert in watch.told()] == [shown] * 3
    assert len({alert["id"] for alert in watch.told()}) == 3
    assert watch.told()[0]["stop"] == "https://gate.example/#/alerts/stop/" + "a" * 43


async def test_notice_and_outages_are_told(watch: Watch) -> None:
    await watch.add()
    await watch.look()
    lease = await watch.world.open(7)
    assert await watch.look() == ["started", "end-near"]
    end = NOW + HOUR
    await watch.world.tell((LeaseTerminated, {"lease": lease, "machine": 7, "end": end, "penalty": 0}))
    assert await watch.look() == ["notice"]
    await watch.world.tell((MachineWentDown, {"machine": 7, "from_": NOW + watch.world.head}))
    assert await watch.look() == ["outage"]


async def test_a_machine_is_silent_when_its_agent_was_so_for_long_and_often(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    await watch.add(frozenset({AlertKind.OUTAGE}))
    await watch.world.open(7)
    watch.watching._silences.clock = watch.time
    watch.answering[7] = False
    assert await watch.look() == await watch.look() == []  # it is asked from the second look on
    assert await watch.look(700) == []
    assert await watch.look(1) == ["outage"]
    watch.answering[7] = True
    assert await watch.look() == await watch.look(400) == await watch.look() == []
    watch.answering[7] = False
    for _ in range(4):
        await watch.look(400)
    assert watch.kinds() == ["outage"] * 2


async def test_what_another_process_finds_silent_for_a_moment_is_not_told_anew(watch: Watch) -> None:
    await watch.add(frozenset({AlertKind.OUTAGE}))
    await watch.world.open(7)
    watch.watching._silences.clock = watch.time
    watch.answering[7] = False
    for _ in range(5):
        await watch.look(400)
    assert watch.kinds() == ["outage"]
    watch.watching = watch.another()
    for _ in range(5):
        assert await watch.look(100) == []


async def test_what_a_machine_says_why_it_declined_is_a_strangers_word(watch: Watch) -> None:
    """It would go out under the gateway's name: by letter, to somebody who trusts it."""
    await watch.add()
    lease = await opened(watch.world)
    await watch.look()
    reason = b"pay at https://evil.example".ljust(32, b"\0")
    await watch.world.tell(
        (LeaseDeclined, {"lease": lease, "machine": 7, "reason": reason, "refunded": 2 * UNIT})
    )
    assert await watch.look() == ["not-started"]
    assert b"evil" not in b"".join(body for _, body in watch.hook.heard)


async def test_a_sum_that_is_put_aside_tells_when_it_is_too_little(watch: Watch) -> None:
    await watch.add(id_="a")
    await watch.add(frozenset({AlertKind.END_NEAR}), id_="b")
    await watch.world.open(7)
    rule = KeepSettings(by=HOUR, at_most=366 * 86_400, budget="0")
    watch.fund = LeaseFund(rule, 2 * UNIT)
    assert await watch.look() == []
    watch.fund = LeaseFund(rule, 2 * UNIT - 1)
    assert sorted(await watch.look()) == ["end-near", "escrow-low"]


async def test_only_what_was_wished_for_is_told_and_a_wish_is_changed(watch: Watch) -> None:
    recipient = await watch.add(frozenset({AlertKind.NOTICE}))
    await watch.world.open(7)
    assert await watch.look() == []
    assert await watch.held.wish(TENANT, recipient, AlertWishes(frozenset({AlertKind.END_NEAR}), HOUR))
    assert await watch.look() == ["end-near"]


async def test_what_is_cheaper_elsewhere_is_told(watch: Watch) -> None:
    await watch.add(frozenset({AlertKind.PRICE}))
    await watch.world.open(7)
    await watch.world.fetched()
    await watch.world.gateway.market.refresh()
    assert await watch.look() == []
    await watch.world.machine(8, replace(TERMS, price=UNIT))
    await watch.world.fetched()
    await watch.world.gateway.market.refresh()
    assert await watch.look() == ["price"]


# -------------------------------------------------------------------------------------------------------- to whom


async def test_who_has_not_confirmed_is_told_nothing(watch: Watch) -> None:
    await watch.add(confirmed=False)
    await watch.world.open(7)
    assert await watch.look() == []


async def test_nobody_is_told_of_anothers_lease(watch: Watch) -> None:
    await watch.add(account=OTHER)
    lease = await watch.world.open(7)
    assert await watch.look() == []
    await watch.world.tell((LeaseTransferred, {"lease": lease, "from_": TENANT, "to": OTHER}))
    assert await watch.look() == ["end-near"]
    await watch.world.tell((LeaseTransferred, {"lease": lease, "from_": OTHER, "to": TENANT}))
    await watch.world.tell(
        (LeaseClosed, {"lease": lease, "machine": 7, "end": NOW + HOUR, "paid": 1, "fee": 0, "refunded": 0})
    )
    assert await watch.look() == []


async def test_who_is_removed_is_told_nothing_more_and_forgotten(watch: Watch) -> None:
    recipient = await watch.add()
    await watch.world.open(7)
    assert not await watch.held.remove(OTHER, recipient)
    assert await watch.held.remove(TENANT, recipient)
    assert await watch.look() == []
    async with watch.engine.connect() as connection:
        assert (await connection.execute(select(recipients))).all() == []


# ------------------------------------------------------------------------------------------- once or twice, never never


async def test_what_is_not_taken_is_sent_again_and_said(watch: Watch) -> None:
    recipient = await watch.add()
    watch.hook.status = "503 Away"
    await watch.world.open(7)
    await watch.look()
    assert watch.hook.heard
    held = await watch.held.get(recipient)
    assert held is not None
    assert held.failing == "webhook did not take the alert: it answered 503"
    assert not held.sent_at
    first = watch.told()[0]["id"]
    watch.hook.status = "204 No Content"
    assert await watch.look(1) == []
    assert await watch.look(60) == ["end-near"]
    assert watch.told()[-1]["id"] == first
    held = await watch.held.get(recipient)
    assert held is not None
    assert (held.failing, held.sent_at) == ("", int(watch.time()))


async def test_a_gateway_that_is_killed_while_it_sends_sends_again_with_the_same_id(watch: Watch) -> None:
    """What is to be told is written down before."""
    await watch.add()
    await watch.world.open(7)

    async def hangs(server: Edge, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request(server, reader)
        await asyncio.Event().wait()

    watch.hook.talk = hangs
    looking = asyncio.create_task(watch.watching.look())
    await watch.hook.came.wait()
    await watch.watching.close()
    looking.cancel()
    await asyncio.gather(looking, return_exceptions=True)
    watch.hook.talk = None
    watch.watching = watch.another()
    assert await watch.look() == ["end-near"]
    first, second = watch.told()
    assert first["id"] == second["id"]


async def test_two_replicas_that_both_think_that_they_are_elected_lose_nothing(watch: Watch) -> None:
    await watch.add()
    await watch.world.open(7)
    other = watch.another()
    await asyncio.gather(watch.watching.look(), other.look())
    await asyncio.gather(watch.watching.look(), other.look())
    assert 1 <= watch.kinds().count("end-near") <= 2
    assert len({alert["id"] for alert in watch.told() if alert["kind"] == "end-near"}) == 1


async def test_what_a_replica_remembers_of_before_another_wrote_is_not_kept(watch: Watch) -> None:
    """It would forget what the other had noted as still to be sent."""
    recipient = await watch.add()
    before = await watch.held.get(recipient)
    assert before is not None
    assert await watch.held.remember(before, replace(before.remembered, looked=NOW))
    assert not await watch.held.remember(before, replace(before.remembered, looked=NOW + 1))
    after = await watch.held.get(recipient)
    assert after is not None
    assert after.remembered.looked == NOW


async def test_the_index_is_dropped_and_nothing_is_told_of_it(watch: Watch) -> None:
    """While it is filled anew every lease seems to be over. Who is told stays, since no chain gives it back."""
    await watch.add()
    lease = await watch.world.open(7)
    assert await watch.look() == ["end-near"]
    events = list(watch.world.story)
    await watch.world.gateway.index.clear()
    assert await watch.look() == await watch.look(400) == await watch.look() == []
    await watch.world.gateway.index.apply(events[:1])
    assert await watch.look() == await watch.look(400) == await watch.look() == []
    await watch.world.gateway.index.apply(events[1:])
    assert await watch.look() == []
    assert watch.told()[0]["lease"] == format_lease(lease)


async def test_a_chain_whose_nodes_are_away_ends_leases_all_the_same(watch: Watch) -> None:
    """The clock goes on: a lease's end comes, whether anybody can read the chain or not."""
    await watch.add()
    lease = await opened(watch.world)
    start = NOW + watch.world.head
    await watch.world.tell(
        (
            LeaseStarted,
            {"lease": lease, "machine": 7, "start": start, "end": start + 3 * HOUR, "endpoint": b"e" * 32},
        )
    )
    assert await watch.look() == []
    assert await watch.look(2 * HOUR + 60) == ["end-near"]


async def test_a_recipient_is_told_so_much_a_day_and_the_others_wait_for_nobody(watch: Watch) -> None:
    """Somebody with a thousand leases on his own machine has a webhook called no oftener than the day's bound."""
    await watch.add()
    await watch.look()
    for _ in range(3):
        await watch.world.open(7)
    watch.watching._sent.spend("a" * 22, DAILY.burst - 2)
    await watch.look()
    assert len(watch.told()) == 2
    assert await watch.look() == []


async def test_who_takes_his_time_has_a_turn_and_no_more(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some dozen such would else hold every place for an hour."""
    await watch.add()
    await watch.look()
    for _ in range(4):
        await watch.world.open(7)
    monkeypatch.setattr(watching, "TURN_SECONDS", 0.0)
    assert len(await watch.look()) == 1
    monkeypatch.setattr(watching, "TURN_SECONDS", 3_600.0)
    assert len(await watch.look()) == watching.TURN_ALERTS
    assert len(await watch.look()) == 2


async def test_machines_that_hold_up_the_asking_hide_no_other(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who is not reached in one look is asked first in the next, and what was known of him stays."""
    monkeypatch.setattr(watching, "ASKED_AT_ONCE", 1)
    monkeypatch.setattr(watching, "ASKED_SECONDS", 0.05)
    await watch.add(frozenset({AlertKind.OUTAGE}))
    for machine in (8, 9):
        await watch.world.machine(machine)
    for machine in (7, 8, 9):
        await watch.world.open(machine)
    watch.watching._silences.clock = watch.time
    watch.answering[9] = False
    watch.hanging.update((7, 8))
    for _ in range(12):
        await watch.look(150)
    assert [alert["lease"] for alert in watch.told()] == [format_lease(watch.world.leases << 16)]


async def test_a_recipient_that_hangs_holds_up_no_other(watch: Watch) -> None:
    await watch.add(id_="a")
    await watch.world.open(7)

    async def hangs(server: Edge, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.came.set()
        await asyncio.Event().wait()

    async with edge(hangs) as slow:
        reach = AlertReach(frozenset({f"127.0.0.1:{slow.port}", f"127.0.0.1:{watch.hook.port}"}))
        watch.ways = Ways(reach, None)
        watch.watching = watch.another()
        to = AlertRecipient.model_validate({"way": "webhook", "address": slow.url})
        made = HeldRecipient(
            "b" * 22, TENANT, to, "s", "https://g", "b" * 43, AlertWishes(ALL, HOUR), int(watch.time())
        )
        await watch.held.add(made, CODE, stranger=False)
        await watch.held.confirm(TENANT, made.id, CODE, int(watch.time()))
        looking = asyncio.create_task(watch.watching.look())
        await asyncio.gather(slow.came.wait(), watch.hook.came.wait())
        assert watch.kinds() == ["end-near"]
        await watch.watching.close()
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)


async def test_a_recipient_at_whom_something_breaks_ends_nobody_elses_watch(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """He chose the place: the watch goes on, the others are told, and the log is not filled with his."""
    for id_ in "abcd":
        await watch.add(id_=id_)
    await watch.world.open(7)
    told, broken = watching.told, ["note", "send"]
    send, get = Webhook.send, watch.held.get

    def breaks(remembered: Any, *rest: Any, **more: Any) -> Any:
        if "note" in broken:
            broken.remove("note")
            raise KeyError("what nobody thought of")
        return told(remembered, *rest, **more)

    async def breaks_too(self: Webhook, alert: Mapping[str, Any]) -> None:
        if self.url.endswith("/b") and "send" in broken:
            raise ssl.SSLError("what nobody thought of")
        await send(self, alert)

    monkeypatch.setattr(watching, "told", breaks)
    monkeypatch.setattr(Webhook, "send", breaks_too)
    with structlog.testing.capture_logs() as said:
        at_once = (
            await watch.look()
        )  # of four: all but for whom it could not be noted and `b`, who may be the same
        assert at_once + await watch.look(400) == ["end-near"] * 3
        assert len(at_once) >= 2
    assert [line["event"] for line in said].count("gateway.told_nothing") == 1
    held = await get("b" * 22)
    assert held is not None
    assert held.failing == "This gateway cannot send to that place"
    broken.clear()
    assert await watch.look(4_000) == ["end-near"]


async def test_who_breaks_each_time_is_logged_once_and_starves_nobody(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    for id_ in "abc":
        await watch.add(id_=id_)
    await watch.world.open(7)
    deliver = Watching._deliver

    async def breaks(self: Watching, recipient: str) -> None:
        if recipient[0] in "ab":
            raise KeyError(recipient)
        await deliver(self, recipient)

    monkeypatch.setattr(Watching, "_deliver", breaks)
    with structlog.testing.capture_logs() as said:
        for _ in range(3):
            await watch.look()
    assert watch.kinds() == ["end-near"]
    assert [line["event"] for line in said].count("gateway.told_nothing") == 2
