"""The pool: its rules, contracts and powers; and how its market stands."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from leasehold.gateway._errors import NoSuchThing
from leasehold.gateway._gateway import Gateway, TheGateway
from leasehold.gateway._reading import address, answered, listed
from leasehold.gateway._words import token_json
from leasehold.market import pool_json, table_of_powers

router = APIRouter(prefix="/api/v1", tags=["pool"])


@router.get("/pools", summary="The pools of this gateway")
async def pools(gateway: TheGateway) -> Response:
    return listed(gateway, [await _pool(gateway)])


@router.get("/pools/{controller}", summary="A pool: its rules, contracts, powers and code")
async def pool(gateway: TheGateway, controller: str) -> Response:
    if address(controller) != gateway.deployment.controller:
        raise NoSuchThing("pool", controller[:42])
    return answered(gateway, {"pool": await _pool(gateway)})


async def _pool(gateway: Gateway) -> dict[str, Any]:
    facts, deployment = await gateway.pool.facts(), gateway.deployment
    return {
        **pool_json(deployment.controller, facts.view, gateway.money),
        "chain_id": deployment.chain_id,
        "genesis": deployment.genesis,
        "deployed_at_block": deployment.block,
        "token": token_json(deployment),
        "contracts": facts.contracts,
        "code_hashes": facts.code,
        "powers": [power.to_json() for power in table_of_powers(facts.view, gateway.money)],
        "domain": {
            "name": "Leasehold",
            "version": "1",
            "chainId": deployment.chain_id,
            "verifyingContract": deployment.controller,
        },
    }
