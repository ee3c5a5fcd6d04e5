"""What an operator signs of a lease for its tenant, and of a machine for anybody."""

from __future__ import annotations

import asyncio

from leasehold.chain import LocalSigner
from leasehold.market import checked
from leasehold.market.wire import Heartbeat, LeaseStanding, SignedStatement
from leasehold_agent._runtime import Seen, Standing

from .conftest import DOMAIN, LEASE, OTHER, World

STATEMENT = "/v1/leases/12/statement"
HEARTBEAT = "/v1/machines/7/heartbeat"
KILLED = Standing("ab" * 32, "running", 1_799_999_990, 1_799_999_980, "hand", None, 3, 2)


async def test_a_tenant_has_it_signed_how_his_container_stands(world: World) -> None:
    world.leases.standings[LEASE] = KILLED
    headers = await world.tenant.sign("GET", STATEMENT)
    answer = await world.http.get(STATEMENT, headers=headers)
    known = checked(SignedStatement.model_validate_json(answer.content), DOMAIN)
    assert known.signer == world.operator.address
    assert isinstance(known.said, LeaseStanding)
    assert (known.said.lease, known.said.machine, known.said.time) == (str(LEASE), 7, world.clock())
    assert (known.said.ended_by, known.said.kills, known.said.ends) == ("hand", 2, 3)
    assert known.said.container == KILLED.container


async def test_nobody_else_has(world: World) -> None:
    assert (await world.http.get(STATEMENT)).status_code == 401
    for who, lease in ((world.stranger, LEASE), (world.tenant, OTHER)):
        path = f"/v1/leases/{lease >> 16}/statement"
        answer = await world.http.get(path, headers=await who.sign("GET", path, lease=lease))
        assert answer.status_code == 403
    headers = await world.tenant.sign("GET", STATEMENT, op="lease.exec")
    assert (await world.http.get(STATEMENT, headers=headers)).status_code == 403
    headers = await world.tenant.sign("GET", STATEMENT)
    assert (await world.http.get(STATEMENT, headers=headers)).status_code == 200
    assert (await world.http.get(STATEMENT, headers=headers)).status_code == 401, "a right serves once"


async def test_anybody_reads_that_the_machine_lives(world: World) -> None:
    answers = await asyncio.gather(*(world.http.get(HEARTBEAT) for _ in range(5)))
    assert len({answer.content for answer in answers}) == 1
    known = checked(SignedStatement.model_validate_json(answers[0].content), DOMAIN)
    assert known.signer == world.operator.address
    assert known.said == Heartbeat(
        machine=7, time=world.clock(), block=0, block_hash="", serves=False, running=0
    ), "an agent that has not looked yet does not say that it serves"
    world.clock.at += 9
    assert (await world.http.get(HEARTBEAT)).content == answers[0].content
    world.clock.at += 1
    assert (await world.http.get(HEARTBEAT)).content != answers[0].content
    world.clock.at -= 3_600  # a clock that was set back does not leave an old word standing
    later = checked(SignedStatement.model_validate_json((await world.http.get(HEARTBEAT)).content), DOMAIN)
    assert later.said.time == world.clock()
    assert (await world.http.get("/v1/machines/8/heartbeat")).status_code == 404
    for path in ("/v1/machines/-1/heartbeat", "/v1/machines/x/heartbeat", f"/v1/machines/{2**40}/heartbeat"):
        assert (await world.http.get(path)).status_code in (400, 404, 422)


async def test_many_who_ask_have_it_signed_once(world: World) -> None:
    signed = 0
    sign = LocalSigner.sign_typed_data

    class Counting(LocalSigner):
        async def sign_typed_data(self, data: object) -> bytes:  # type: ignore[override]
            nonlocal signed
            signed += 1
            return await sign(world.operator, data)  # type: ignore[arg-type]

    object.__setattr__(world.server.api.context, "operator", Counting((3).to_bytes(32, "big")))
    object.__setattr__(world.server.api.context, "seen", lambda: Seen(5, "0x" + "ab" * 32, True, 2))
    answers = await asyncio.gather(*(world.http.get(HEARTBEAT) for _ in range(20)))
    assert signed == 1
    known = checked(SignedStatement.model_validate_json(answers[0].content), DOMAIN).said
    assert known == Heartbeat(
        machine=7, time=world.clock(), block=5, block_hash="0x" + "ab" * 32, serves=True, running=2
    )
