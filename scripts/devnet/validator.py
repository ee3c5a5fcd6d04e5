"""A validator in a process of its own: it asks a machine's agent whether it lives, and attests when it does not.

    python -m devnet.validator --rpc URL --deployment FILE --machine 3 --contact FILE --seat 2 --board FOLDER

Its key comes in by LEASEHOLD_VALIDATOR_KEY. The board is a folder that validators share, in place of whatever they
talk by: `since-SEAT` says from when on one found the machine dark, `proposal` what the lowest seat among them proposes
to sign, `proof-SEAT` a signature. Nobody believes anything on it: each signs only what it saw itself, and the contract
judges the signatures.

Says on standard output, as JSON lines, what it sees and does, and ends once the outage is on the chain.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leasehold.chain import Committee, Deployment, LocalSigner, Pool, Rpc, Sender
from leasehold.chain.typed import Domain, Outage, sign
from leasehold.errors import ContractError
from leasehold.market import AgentClient, Contact, parse_document
from leasehold.market.wire import AgentUnreachable

LOOKS = 3  # that must fail in a row: one lost packet is no outage
PAUSE = 0.2


@dataclass
class Board:
    """What validators tell each other."""

    folder: Path

    def put(self, name: str, value: Any) -> None:
        draft = self.folder / f".{name}.{os.getpid()}"
        draft.write_text(json.dumps(value))
        draft.replace(self.folder / name)

    def get(self, name: str) -> Any:
        path = self.folder / name
        return json.loads(path.read_text()) if path.exists() else None

    def by_seat(self, name: str) -> dict[int, Any]:
        found = sorted(self.folder.glob(f"{name}-*"))
        return {int(path.name.rpartition("-")[2]): json.loads(path.read_text()) for path in found}


@dataclass
class Validator:
    """One seat. `say` tells whoever started the process."""

    rpc: Rpc
    pool: Pool
    signer: LocalSigner
    machine: int
    seat: int
    agent: AgentClient
    board: Board
    say: Callable[..., None]
    committee: Committee
    accepted: int
    failed: int = 0
    found_at: int | None = None  # the head's number when the first of the failed looks failed
    since: int | None = None

    async def run(self) -> None:
        while not (await self.pool.machine_of(self.machine)).down:
            await self.look()
            if self.since is not None:
                self.board.put(f"since-{self.seat}", self.since)
                await self.propose()
                await self.sign()
                await self.submit()
            await asyncio.sleep(PAUSE)

    async def look(self) -> None:
        """Dark since the first block after the first look that failed; one answer takes everything back."""
        try:
            await self.agent.health()
        except AgentUnreachable:
            self.failed += 1
        else:
            if self.failed or self.since is None:
                self.say("alive")
            self.failed, self.found_at, self.since = 0, None, None
            return
        head = await self.rpc.header("latest")
        assert head is not None
        if self.found_at is None:
            self.found_at = head.number
            self.say("missed", block=head.number)
        if self.since is None and self.failed >= LOOKS and head.number > self.found_at:
            self.since = head.timestamp
            self.say("dark", since=self.since)

    async def propose(self) -> None:
        """The lowest seat proposes what all who have spoken can sign."""
        said = self.board.by_seat("since")
        enough = len(said) >= 5 and 3 * len(said) > 2 * await self.committee.matured_seats(self.accepted)
        if enough and self.seat == min(said) and self.board.get("proposal") is None:
            self.board.put("proposal", {"from": max(said.values())})

    async def sign(self) -> None:
        proposal = self.board.get("proposal")
        if proposal is None or self.since is None or self.board.get(f"proof-{self.seat}") is not None:
            return
        if proposal["from"] < self.since:
            self.say("refused", proposal=proposal)
            return
        proof = await sign(self.outage(proposal), self.domain, self.signer)
        self.board.put(f"proof-{self.seat}", proof.hex())
        self.say("signed", outage_from=proposal["from"])

    async def submit(self) -> None:
        """The lowest seat that has signed sends them all."""
        proposal, proofs = self.board.get("proposal"), self.board.by_seat("proof")
        if proposal is None or not proofs or self.seat != min(proofs):
            return
        seats = sorted(proofs)
        each = [bytes.fromhex(proofs[seat]) for seat in seats]
        if 3 * len(seats) <= 2 * await self.committee.matured_seats(self.accepted) or len(seats) < 5:
            return
        try:
            fault, _ = await (await self.pool.faults()).attest(self.machine, proposal["from"], 0, seats, each)
        except ContractError as error:
            self.say("refused", problem=str(error))
            return
        self.say("attested", fault=fault, seats=seats)

    def outage(self, proposal: dict[str, int]) -> Outage:
        """Still down."""
        return Outage(account=self.signer.address, machine=self.machine, from_=proposal["from"], to=0)

    @property
    def domain(self) -> Domain:
        return Domain(self.pool.deployment.chain_id, self.pool.deployment.controller)


async def main(arguments: argparse.Namespace) -> None:
    async with asyncio.timeout(arguments.patience):
        await validate(arguments)


async def validate(arguments: argparse.Namespace) -> None:
    deployment = Deployment.load(arguments.deployment)
    contact = parse_document(Contact, arguments.contact.read_bytes(), "The contact document")
    signer = LocalSigner(os.environ["LEASEHOLD_VALIDATOR_KEY"])
    domain = Domain(deployment.chain_id, deployment.controller)

    def say(what: str, **more: Any) -> None:
        print(json.dumps({"seat": arguments.seat, "event": what, **more}), flush=True)

    async with Rpc([arguments.rpc]) as rpc:
        await rpc.check_chain(deployment)
        pool = Pool(rpc, deployment, Sender(rpc, signer, poll=0.05))
        operator = (await pool.machine_of(arguments.machine)).operator
        async with AgentClient(contact, domain, arguments.machine, operator, signer) as agent:
            await Validator(
                rpc=rpc,
                pool=pool,
                signer=signer,
                machine=arguments.machine,
                seat=arguments.seat,
                agent=agent,
                board=Board(arguments.board),
                say=say,
                committee=await pool.committee(),
                accepted=(await pool.machine_of(arguments.machine)).params,
            ).run()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rpc", required=True)
    parser.add_argument("--deployment", type=Path, required=True)
    parser.add_argument("--machine", type=int, required=True)
    parser.add_argument("--contact", type=Path, required=True)
    parser.add_argument("--seat", type=int, required=True)
    parser.add_argument("--board", type=Path, required=True)
    parser.add_argument("--patience", type=float, default=300, help="seconds after which it gives up")
    asyncio.run(main(parser.parse_args()))
