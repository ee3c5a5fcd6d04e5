"""Groups over HTTP: those that the chain tells of, by who signs for them."""

from __future__ import annotations

from leasehold.chain import GroupDeployed
from leasehold.chain.typed import Group

from .conftest import ACCOUNTS, OTHER, PROVIDER, TENANT, World

GROUP = Group.of(2, [PROVIDER, TENANT, OTHER])
ADDRESS = GROUP.address(ACCOUNTS)


def told(group: Group) -> tuple[type[GroupDeployed], dict[str, object]]:
    values = {"threshold": group.threshold, "signers": group.signers, "salt": group.salt}
    return GroupDeployed, {"account": group.address(ACCOUNTS), **values}


async def test_a_group_that_was_deployed_is_told_to_each_of_its_signers(world: World) -> None:
    await world.tell(told(GROUP))
    said = {
        "account": ADDRESS,
        "threshold": 2,
        "signers": list(GROUP.signers),
        "salt": "0x" + "00" * 32,
        "safe": False,
        "deployed": True,
    }
    for member in GROUP.signers:
        answer = await world.get("/api/v1/groups", member=member.lower())
        assert (answer["items"], answer["total"]) == ([said], 1)
    assert (await world.get("/api/v1/groups", member=ACCOUNTS))["items"] == []
    assert (await world.get(f"/api/v1/groups/{ADDRESS}"))["group"] == said


async def test_a_group_that_nobody_knows_is_not_made_up(world: World) -> None:
    await world.tell()
    assert (await world.client.get(f"/api/v1/groups/{ADDRESS}")).status_code == 404
    assert (await world.client.get("/api/v1/groups/nonsense")).status_code == 400
    assert (await world.client.get("/api/v1/groups")).status_code in (400, 422)


async def test_a_group_of_a_block_that_was_left_is_forgotten(world: World) -> None:
    await world.tell()
    block = await world.tell(told(GROUP))
    await world.undo(block.number)
    await world.tell()
    assert (await world.get("/api/v1/groups", member=TENANT))["items"] == []


async def test_groups_of_strangers_that_name_somebody_push_none_of_his_back(world: World) -> None:
    """Anybody deploys groups that name others: who has his own from before sees them first, and all by asking on."""
    strangers = [Group.of(1, [TENANT, OTHER], salt=bytes([number]) * 32) for number in range(1, 8)]
    await world.tell(told(GROUP))
    await world.tell(*map(told, strangers))
    own = Group.of(2, [TENANT, PROVIDER])
    await world.tell(told(own))

    seen: list[str] = []
    after: dict[str, str] = {}
    for _ in range(3):
        answer = await world.get("/api/v1/groups", member=TENANT, limit="3", **after)
        seen += [item["account"] for item in answer["items"]]
        assert len(answer["items"]) <= 3
        if answer["next"] is None:
            break
        after = {"after": answer["next"]}
    assert seen == [ADDRESS, *(group.address(ACCOUNTS) for group in strangers), own.address(ACCOUNTS)]
