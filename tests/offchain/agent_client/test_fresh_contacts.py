"""What machines have at hand now, as their agents say and their operators sign; and agents that say something else."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
import pytest

from devnet.patience import patient
from devnet.serving import CHAIN, CONTROLLER, MACHINE, certificate
from leasehold.chain import LocalSigner, Machine, MachineStatus, Terms
from leasehold.chain.typed import Contact as SignedContact
from leasehold.chain.typed import Domain
from leasehold.errors import AgentError
from leasehold.market import Contact, FreshContacts, Listing, Money, canonical, parse_search
from leasehold.market._fresh_contacts import FRESH, asked
from leasehold_agent.api import ApiServer

from .conftest import DOMAIN, World

IMAGE, OTHER_IMAGE = "sha256:" + "ab" * 32, "sha256:" + "cd" * 32
OPERATOR, THIEF = (LocalSigner(number.to_bytes(32, "big")) for number in (3, 9))
NOW = 1_800_000_000.0
DOCUMENT: dict[str, Any] = {
    "version": 1,
    "endpoints": ["https://127.0.0.1:1"],
    "certificate": "none",
    "age_recipient": "age1qqqq",
    "issued_at": int(NOW) - 100,
    "images": [],
}
MACHINE_ROW = Machine(
    id=MACHINE, provider="0xa", operator=OPERATOR.address, status=MachineStatus.UNVERIFIED, delisted=False,
    under_staked=False, stalled=False, gpus=1, revision=1, params=1, stake=1, busy=0, leased=0, withheld=0,
    retired_at=0, terms=Terms(1, 0, 1, 2, 0, 60_000),
)  # fmt: skip


def listing(machine: int = MACHINE, **contact: object) -> Listing:
    known = Contact.model_validate({**DOCUMENT, **contact})
    return Listing(replace(MACHINE_ROW, id=machine), Money("TUSD", 18), contact=known)


async def answer(
    document: dict[str, Any],
    *,
    machine: int = MACHINE,
    signer: LocalSigner = OPERATOR,
    domain: Domain = DOMAIN,
    signed_at: int | None = None,
    **info: object,
) -> bytes:
    """What an agent answers, any part of which a test may set wrong."""
    issued = int(document["issued_at"]) if signed_at is None else signed_at
    said = SignedContact(machine, sha256(canonical(document)).digest(), issued)
    signature = "0x" + (await signer.sign_typed_data(said.typed_data(domain))).hex()
    one = {"machine": machine, "issuedAt": issued, "signature": signature}
    made = {
        "chain": CHAIN, "controller": CONTROLLER, "operator": signer.address, "machines": [machine],
        "contact": document, "signatures": [one], **info,
    }  # fmt: skip
    return orjson.dumps(made)


def with_image(image: str = IMAGE, issued_at: int = int(NOW), **others: object) -> dict[str, Any]:
    return {**DOCUMENT, "images": [{"id": image, "name": "cuda"}], "issued_at": issued_at, **others}


@dataclass
class Agents:
    """Stand for the agents: what each does when it is asked, by its machine's first endpoint."""

    say: Callable[[Contact], Awaitable[bytes]]
    asked: list[str] = field(default_factory=list)

    async def __call__(self, contact: Contact) -> bytes:
        self.asked.append(contact.endpoints[0])
        return await self.say(contact)


def saying(raw: bytes) -> Agents:
    async def say(_: Contact) -> bytes:
        return raw

    return Agents(say)


def images(shown: Listing) -> list[str]:
    assert shown.contact is not None
    return [image.id for image in shown.contact.images]


async def test_a_search_sees_what_the_host_has_now(tmp_path: Path) -> None:
    fresh = FreshContacts(tmp_path, DOMAIN, clock=lambda: NOW, ask=saying(await answer(with_image())))
    (shown,) = await fresh.refreshed([listing()])
    assert images(shown) == [IMAGE]
    assert parse_search(f"image:{IMAGE}").matches(shown)
    assert not parse_search(f"image:{IMAGE}").matches(listing())
    gone = FreshContacts(
        tmp_path / "b",
        DOMAIN,
        clock=lambda: NOW,
        ask=saying(await answer({**DOCUMENT, "issued_at": int(NOW)})),
    )
    (shown,) = await gone.refreshed([listing(images=[{"id": IMAGE}])])
    assert images(shown) == [], "what the chain's document names may be gone by now"


async def lies() -> dict[str, bytes]:
    """Answers that must change nothing."""
    good = orjson.loads(await answer(with_image()))
    deep = b'{"chain":1,"contact":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    huge = orjson.dumps(good).replace(b'"version":1', b'"version":' + b"9" * 5_000)
    return {
        "another key's": await answer(with_image(), signer=THIEF),
        "signed for another machine": await answer(with_image(), machine=MACHINE + 1),
        "another machine's signature": orjson.dumps(
            {**good, "signatures": [{**good["signatures"][0], "machine": MACHINE + 1}]}
        ),
        "signed for another pool": await answer(with_image(), domain=Domain(CHAIN, "0x" + "11" * 20)),
        "signed on another chain": await answer(with_image(), domain=Domain(CHAIN + 1, CONTROLLER)),
        "signed for another document": orjson.dumps({**good, "contact": with_image(OTHER_IMAGE)}),
        "signed for another time": await answer(with_image(), signed_at=int(NOW) + 1),
        "of the far future": await answer(with_image(issued_at=int(NOW) + 100_000)),
        "unsigned": orjson.dumps({**good, "signatures": []}),
        "an older agent's": orjson.dumps({k: v for k, v in good.items() if k != "signatures"}),
        "older than the chain's": await answer(with_image(issued_at=int(NOW) - 101)),
        "no document": await answer({"version": 2, "issued_at": int(NOW)}),
        "no hexadecimal": orjson.dumps(
            {**good, "signatures": [{**good["signatures"][0], "signature": "0xzz"}]}
        ),
        "too long": await answer(with_image(location={"country": "x" * 65})),
        "garbage": b"\xff\x00",
        "empty": b"",
        "a list": b"[]",
        "deep": deep,
        "a number that nobody can write": huge,
        "negative": orjson.dumps({**good, "signatures": [{**good["signatures"][0], "issuedAt": -1}]}),
        "beyond its type": orjson.dumps(good).replace(b'"issuedAt":', b'"issuedAt":99999999999'),
    }


async def test_what_no_operator_signed_changes_nothing(tmp_path: Path) -> None:
    for number, (lie, raw) in enumerate((await lies()).items()):
        fresh = FreshContacts(tmp_path / str(number), DOMAIN, clock=lambda: NOW, ask=saying(raw))
        (shown,) = await fresh.refreshed([listing()])
        assert shown == listing(), lie


@pytest.mark.parametrize(
    "error",
    [AgentError("no"), OSError("no"), ssl.SSLError("no"), TimeoutError(), UnicodeError("no")],
    ids=repr,
)
async def test_an_agent_that_does_not_answer_keeps_nobody_from_the_rest(
    tmp_path: Path, error: Exception
) -> None:
    good = await answer(with_image())

    async def say(contact: Contact) -> bytes:
        if contact.endpoints[0] == "bad":
            raise error
        return good

    agents = Agents(say)
    fresh = FreshContacts(tmp_path, DOMAIN, clock=lambda: NOW, ask=agents)
    many = [listing(100 + number, endpoints=["bad"]) for number in range(40)] + [listing()]
    shown = await fresh.refreshed(many)
    assert shown[:40] == many[:40]
    assert images(shown[40]) == [IMAGE]
    agents.asked.clear()
    await fresh.refreshed([listing(100, endpoints=["bad"]), listing(7, endpoints=["https://127.0.0.1:1"])])
    assert agents.asked == ["bad"], "what came counts for a minute; what did not is asked for last"


async def test_agents_that_never_answer_cost_one_limit_and_come_last_the_next_time(tmp_path: Path) -> None:
    """As in docs/decisions/0118: not a limit for each, and not again before those that answer."""
    good = await answer(with_image())

    async def say(contact: Contact) -> bytes:
        if contact.endpoints[0] == "never":
            await asyncio.Event().wait()
        return good

    agents, clock = Agents(say), [NOW]
    fresh = FreshContacts(tmp_path, DOMAIN, timeout=0.2, clock=lambda: clock[0], ask=agents)
    silent = [listing(100 + number, endpoints=["never"]) for number in range(40)]
    async with asyncio.timeout(patient(30)):
        shown = await fresh.refreshed([*silent, listing()])
    assert shown[40] == listing(), "there was no time left for it"
    assert len(agents.asked) == 16
    async with asyncio.timeout(patient(30)):
        for _ in range(2):  # of forty, sixteen at a time hold the line; then all of them are known
            await fresh.refreshed([*silent, listing()])
        shown = await fresh.refreshed([*silent, listing()])
    assert images(shown[40]) == [IMAGE]
    clock[0] += FRESH
    agents.asked.clear()
    async with asyncio.timeout(patient(30)):
        await fresh.refreshed([*silent, listing()])
    assert agents.asked[0] == "https://127.0.0.1:1"


async def test_what_was_signed_last_counts_until_something_newer_is(tmp_path: Path) -> None:
    """Also where the agent is silent later, or an old answer is replayed."""
    clock = [NOW]
    first = saying(await answer(with_image()))
    await FreshContacts(tmp_path, DOMAIN, clock=lambda: clock[0], ask=first).refreshed([listing()])
    clock[0] += FRESH + 1
    replayed = saying(await answer(with_image(OTHER_IMAGE, issued_at=int(NOW) - 50)))
    fresh = FreshContacts(tmp_path, DOMAIN, clock=lambda: clock[0], ask=replayed)
    (shown,) = await fresh.refreshed([listing()])
    assert (images(shown), len(replayed.asked)) == ([IMAGE], 1)
    (shown,) = await fresh.refreshed([listing(issued_at=int(NOW) + 1)])
    assert images(shown) == [], "the chain names a newer one"
    moved = replace(listing(), machine=replace(MACHINE_ROW, operator=THIEF.address))
    (shown,) = await fresh.refreshed([moved])
    assert images(shown) == [], "the machine has another operator, who has signed nothing"


def kept_in(folder: Path) -> Path:
    (file,) = folder.rglob(f"{MACHINE}.json")
    return file


@pytest.mark.parametrize(
    "raw", [b"", b"[]", b"{}", b'{"operator": 1, "issued_at": 1, "contact": {}}', b"\xff"]
)
async def test_a_file_that_was_spoiled_is_asked_for_again(tmp_path: Path, raw: bytes) -> None:
    agents = saying(await answer(with_image()))
    fresh = FreshContacts(tmp_path, DOMAIN, clock=lambda: NOW, ask=agents)
    await fresh.refreshed([listing()])
    kept_in(tmp_path).write_bytes(raw)
    (shown,) = await fresh.refreshed([listing()])
    assert (images(shown), len(agents.asked)) == ([IMAGE], 2)


# ------------------------------------------------------------------------------------------------- over the wire


@asynccontextmanager
async def speaking(world: World, said: dict[str, Any]) -> AsyncIterator[Contact]:
    """An agent whose contact document is what `said` holds now; gives the one that the chain names."""
    document: dict[str, Any] = orjson.loads(world.context.contact())
    context = replace(world.context, contact=lambda: canonical({**document, **said}))
    server = await ApiServer.open(context)
    try:
        port = await server.start("127.0.0.1", 0)
        document["endpoints"] = ["http://127.0.0.1:1", "https://127.0.0.1:1", f"https://127.0.0.1:{port}/"]
        yield Contact.model_validate(document)
    finally:
        await server.close()


async def test_an_agent_signs_what_it_says_anew(world: World, tmp_path: Path) -> None:
    """By its API, at the third of its endpoints; and what it says later is signed again."""
    said: dict[str, Any] = {}
    async with speaking(world, said) as contact:
        shown = Listing(
            replace(MACHINE_ROW, operator=world.operator.address), Money("TUSD", 18), contact=contact
        )
        for number, image in enumerate((IMAGE, OTHER_IMAGE)):
            said |= {"images": [{"id": image, "name": "cuda"}], "issued_at": world.clock() + number + 1}
            fresh = FreshContacts(tmp_path / str(number), DOMAIN, clock=world.clock)
            (now,) = await fresh.refreshed([shown])
            assert images(now) == [image]
        raw = [await asked(contact) for _ in range(2)]
        assert raw[0] == raw[1], "it is signed once, however many ask"


async def test_whoever_answers_with_another_certificate_is_told_nothing(world: World, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    async with speaking(world, {}) as contact:
        false = contact.model_copy(update={"certificate": certificate(other)[0].read_text()})
        with pytest.raises(Exception, match="certificate"):
            await asked(false)
        with pytest.raises(AgentError, match="no endpoint"):
            await asked(contact.model_copy(update={"endpoints": ("http://127.0.0.1:1", "ftp://x", "")}))
