"""The same short history in the model and on a chain with the real contracts, compared after every step."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from eth_account import Account
from web3 import HTTPProvider, Web3
from web3.contract import Contract
from web3.exceptions import ContractLogicError

from . import faults, seats
from .book import Refused
from .pool import Pool
from .rules import ALL, DAY, HOUR, MATURITY, MINUTE, Rules
from .seats import View

ARTIFACTS = Path(__file__).resolve().parents[2] / "build" / "forge"
PROVIDER, TENANTS, VALIDATORS = 1, (2, 3, 4), (5, 6, 7, 8, 9)
NAMES = {
    "min_stake_per_gpu": "minStakePerGpu", "seat_stake": "seatStake", "max_slash_bps": "maxSlashBps",
    "fee_bps": "feeBps", "challenge_window": "challengeWindow", "filing_window": "filingWindow",
    "appeal_window": "appealWindow", "ruling_window": "rulingWindow", "unstake_delay": "unstakeDelay",
    "bond": "bond", "reverify_interval": "reverifyInterval", "verification_fee": "verificationFee",
    "committee_size": "committeeSize",
}  # fmt: skip


class Twins:
    """A pool twice. Every step is taken in both at the same second."""

    def __init__(
        self, url: str, controller: str, token: str, keys: list[str], artifacts: Path = ARTIFACTS
    ) -> None:
        self.web3 = Web3(HTTPProvider(url))
        self._keys, self._artifacts = keys, artifacts
        self.pool = self._contract("IController", controller)
        committee, of_faults, _, _ = self.pool.functions.companions().call()
        self.committee = self._contract("Committee", committee)
        self.faults = self._contract("Faults", of_faults)
        self._token = self._contract("TestToken", token)
        # A day ahead of the clock, behind which no block may be: what is slow here takes no time there.
        self.now = self.web3.eth.get_block("latest")["timestamp"] + DAY
        params = self.pool.functions.params(1).call()
        fields = dict(zip(self._fields("params"), params, strict=True))
        self.arbiter = fields["arbiter"]
        self.rules = replace(Rules(), **{ours: fields[theirs] for ours, theirs in NAMES.items()})
        self.model = Pool(self.rules, ALL, self.now)
        self._leases: dict[int, int] = {}  # the model's number, the chain's
        for account in (PROVIDER, *TENANTS, *VALIDATORS):
            self._fund(account)

    def _contract(self, name: str, address: str) -> Contract:
        artifact = json.loads((self._artifacts / f"{name}.sol" / f"{name}.json").read_text())
        return self.web3.eth.contract(address=Web3.to_checksum_address(address), abi=artifact["abi"])

    def _fields(self, function: str) -> list[str]:
        (found,) = (
            item for item in self.pool.abi if item.get("name") == function and item["type"] == "function"
        )
        return [component["name"] for component in found["outputs"][0]["components"]]

    def address(self, account: int) -> str:
        return Account.from_key(self._keys[account]).address

    def name(self, account: int) -> str:
        return f"account {account}"

    def send(self, account: int, call: Any) -> Any:
        """One transaction, at the second at which the model is."""
        self._next_block_is_now()
        sent = call.transact({"from": self.address(account), "gas": 5_000_000})
        receipt = self.web3.eth.wait_for_transaction_receipt(sent, poll_latency=0.01)
        assert receipt["status"] == 1, f"{call.fn_name} reverted"
        self.model.book.now = self.now
        return receipt

    def _next_block_is_now(self) -> None:
        """Said of every block, or the time that this test takes would get into the history."""
        said = self.web3.provider.make_request("evm_setNextBlockTimestamp", [self.now])
        assert "error" not in said, said

    def mine(self) -> None:
        self._next_block_is_now()
        self.web3.provider.make_request("evm_mine", [])
        self.model.book.now = self.now

    def refuses(self, account: int, call: Any) -> bool:
        try:
            call.call({"from": self.address(account)})
        except ContractLogicError:
            return True
        return False

    def skip(self, seconds: int) -> None:
        self.now += seconds
        self.model.book.now = self.now

    def _fund(self, account: int) -> None:
        amount = 20 * self.rules.seat_stake
        self.send(account, self._token.functions.approve(self.pool.address, 2**256 - 1))
        self.skip(1)
        self.send(account, self.pool.functions.deposit(self.address(account), amount))
        self.skip(1)
        self.model.book.mint(self.name(account), self.pool.functions.balanceOf(self.address(account)).call())

    # ------------------------------------------------------------------------------------------------ comparing

    def compare(self) -> None:
        """Every ledger, stake, window, fault and seat."""
        self.mine()  # what is read is read of the last block, and a window slides
        book = self.model.book
        for account in (PROVIDER, *TENANTS, *VALIDATORS):
            theirs = self.pool.functions.balanceOf(self.address(account)).call()
            assert book.balances[self.name(account)] == theirs, f"the ledger of {account} {book.moves[-6:]}"
        for number, machine in self.model.leasing.machines.items():
            assert machine.stake == self._machine(number)["stake"], f"the stake of machine {number}"
            window = self.model.faults.window(number)
            theirs = self.faults.functions.windowOf(number).call(block_identifier="latest")
            assert [sum(window.downtime), sum(window.charged)] == list(theirs), (
                f"the window of machine {number}"
            )
        for number, fault in self.model.faults.faults.items():
            theirs = self._fault(number)
            ours = (fault.begin, fault.to, fault.bps, fault.amount, fault.deadline)
            assert ours == tuple(theirs[key] for key in ("from", "to", "bps", "amount", "deadline")), (
                f"fault {number}"
            )
        for number, seat in self.model.seats.seats.items():
            theirs = self.committee.functions.seatOf(number).call()
            ours = (seat.stake, seat.level, seat.joined_at, seat.leaves_at, seat.fined_at or 0, seat.version)
            assert ours == tuple(theirs[1:]), f"seat {number}"

    def _machine(self, number: int) -> dict[str, Any]:
        return dict(zip(self._fields("machineOf"), self.pool.functions.machineOf(number).call(), strict=True))

    def _fault(self, number: int) -> dict[str, Any]:
        (found,) = (item for item in self.faults.abi if item.get("name") == "faultOf")
        names = [component["name"] for component in found["outputs"][0]["components"]]
        return dict(zip(names, self.faults.functions.faultOf(number).call(), strict=True))

    # -------------------------------------------------------------------------------------------------- machines

    def register(self, gpus: int, price: int) -> int:
        terms = (price, 0, 1, 30 * DAY, 0, self.now // DAY + 90)
        deadline = self.now + DAY
        consent = (deadline, self._consent(deadline))
        call = self.pool.functions.register(
            terms, gpus, 1, b"\0" * 32, b"\0" * 32, self.address(PROVIDER), consent
        )
        self.send(PROVIDER, call)
        return self.model.register(self.name(PROVIDER), gpus)

    def _consent(self, deadline: int) -> bytes:
        domain = {"name": "Leasehold", "version": "1", "chainId": self.web3.eth.chain_id,
                  "verifyingContract": self.pool.address}  # fmt: skip
        fields = {"chain": "uint256", "controller": "address", "provider": "address", "operator": "address",
                  "deadline": "uint64"}  # fmt: skip
        types = {"Operate": [{"name": name, "type": kind} for name, kind in fields.items()]}
        provider = self.address(PROVIDER)
        values = (self.web3.eth.chain_id, self.pool.address, provider, provider, deadline)
        message = dict(zip(fields, values, strict=True))
        signed = Account.sign_typed_data(self._keys[PROVIDER], domain, types, message)
        return b"\x01" + signed.signature

    def rent(self, account: int, machine: int, cells: int, seconds: int, price: int) -> None:
        """Unless the cells that are free do not lie as a share must: the model counts them only."""
        request = (machine, 1, cells, 0, seconds, price, False, True, b"\0" * 32, [], 0, b"\0" * 32)
        slot = len(self._leases) + 1
        if self.refuses(account, self.pool.functions.open(request)):
            return
        self.send(account, self.pool.functions.open(request))
        self.skip(1)
        self.send(PROVIDER, self.pool.functions.start(slot << 16, b"\0" * 32))
        number = self.model.open(self.name(account), machine, cells, seconds, price)
        self._leases[number] = slot << 16

    def close(self, number: int) -> None:
        account = int(self.model.leasing.leases[number].tenant.split()[1])
        self.send(account, self.pool.functions.close(self._leases[number]))
        self.model.leasing.close(number)

    # ---------------------------------------------------------------------------------------------------- faults

    def falls(self, machine: int, rng: Random) -> int | None:
        """By a report, or by a question that nobody answers, if somebody rents it."""
        leases = [
            n for n, lease in self.model.leasing.leases.items() if not lease.closed and self.now < lease.end
        ]
        if rng.random() < 0.5 or not leases:
            self.send(PROVIDER, self.faults.functions.reportOutage(machine))
            return self.model.down(machine, faults.Kind.REPORTED, self.now, [])
        lease, since = rng.choice(leases), self.now
        account = int(self.model.leasing.leases[lease].tenant.split()[1])
        self.send(account, self.faults.functions.challenge(machine, self._leases[lease]))
        self.skip(self.rules.challenge_window + 1 + rng.randrange(50 * MINUTE))
        self.send(account, self.faults.functions.prove(machine))
        return self.model.down(machine, faults.Kind.CHALLENGED, since, [faults.Reporter(self.name(account))])

    def rises(self, machine: int) -> None:
        self.send(PROVIDER, self.faults.functions.recover(machine, 0, b""))
        self.model.up(machine)

    def apply(self, number: int) -> None:
        fault, leasing = self.model.faults.faults[number], self.model.leasing
        touched = [
            n for n, lease in leasing.leases.items()
            if lease.start < fault.to and fault.begin < lease.end and n not in fault.losses
        ]  # fmt: skip
        if not touched:
            return
        ids = [self._leases[n] for n in touched]
        self.send(TENANTS[0], self.faults.functions.applyOutage(number, ids))
        self.model.faults.apply(number, touched)

    def appeal(self, number: int, stands: bool) -> None:
        self.send(PROVIDER, self.faults.functions.appeal(number))
        self.model.faults.appeal(number)
        self.skip(HOUR)
        self.send(0, self.faults.functions.rule(number, stands))
        self.model.faults.rule(number, stands)
        fault = self.model.faults.faults[number]
        if not stands and fault.round:
            self.model.seats.overturn(fault.round, fault.rules.arbiter)

    def execute(self, number: int) -> None:
        self.skip(max(0, self.model.faults.faults[number].deadline + 1 - self.now))
        self.send(TENANTS[0], self.faults.functions.execute(number))
        self.model.faults.execute(number)
        ids = [self._leases[n] for n in self.model.faults.faults[number].losses]
        self.skip(1)
        self.send(TENANTS[0], self.faults.functions.compensate(number, ids))

    # ------------------------------------------------------------------------------------------------ committees

    def join(self, account: int) -> None:
        self.send(account, self.committee.functions.join(1))
        self.model.join(self.name(account), 1)

    def verify(self, account: int, machine: int, rng: Random) -> int | None:
        """A round whose seats say this or that, or nothing. The fault, if it finds false hardware."""
        request = self.committee.functions.requestVerification(machine, self._machine(machine)["revision"])
        try:
            number = self.model.request(self.name(account), machine)
        except Refused:
            assert self.refuses(account, request), "the model refuses a round that the contract grants"
            return None
        self.send(account, request)
        for _ in range(2):
            self.skip(12)
            self.mine()
        self.skip(12)
        self.send(account, self.committee.functions.draw(number))
        self.model.seats.draw(number, self.committee.functions.drawnFor(number).call(), self.name(account))
        held = self.model.seats.rounds[number]
        self._vote(number, held, rng)
        self.skip(2 * HOUR + MINUTE)
        self.send(account, self.committee.functions.finalize(number))
        self.model.seats.finalize(number)
        return self._false_hardware(number, held)

    def _vote(self, number: int, held: seats.Round, rng: Random) -> None:
        common = View(rng.random() < 0.4, rng.choice([0, 9]))
        views = {}
        for seat in held.drawn:
            if rng.random() < 0.9:
                views[seat] = common if rng.random() < 0.8 else View(rng.random() < 0.5, 7)
        for seat, view in views.items():
            said = (
                self.web3.eth.chain_id,
                self.pool.address,
                number,
                seat,
                view.passed,
                self._spec(view),
                500,
            )
            kinds = ["uint256", "address", "uint256", "uint32", "bool", "bytes32", "uint16", "bytes32"]
            sealed = Web3.keccak(self.web3.codec.encode(kinds, [*said, b"\1" * 32]))
            self.send(self._by(seat), self.committee.functions.commit(number, seat, sealed))
            self.skip(1)
        self.skip(held.commit_until - self.now)
        for seat, view in views.items():
            call = self.committee.functions.reveal(
                number, seat, view.passed, self._spec(view), 500, b"\1" * 32
            )
            self.send(self._by(seat), call)
            self.skip(1)
        held.views = views

    def _spec(self, view: View) -> bytes:
        return view.spec.to_bytes(32, "big")

    def _by(self, seat: int) -> int:
        return int(self.model.seats.seats[seat].validator.split()[1])

    def _false_hardware(self, number: int, held: seats.Round) -> int | None:
        if held.outcome is None or held.outcome.passed or not held.outcome.spec:
            return None
        self.skip(MINUTE)
        self.send(TENANTS[0], self.faults.functions.reportFalseHardware(number))
        accepted = self.model.accepted(held.machine)
        return self.model.faults.false_hardware(held.machine, held.requested_at, number, accepted)


def live(twins: Twins, seed: int, steps: int) -> None:
    """A history of so many steps."""
    rng = Random(seed)
    for account in (*VALIDATORS, *rng.choices(VALIDATORS, k=3)):
        twins.join(account)
        twins.skip(1)
    twins.skip(MATURITY)
    price = rng.randrange(1, 5 * 10**18)
    machine = twins.register(rng.choice([1, 2, 8]), price)
    twins.skip(rng.randrange(8 * DAY))
    waiting: list[int] = []
    for _ in range(steps):
        _step(twins, machine, price, waiting, rng)
        twins.skip(1)
        twins.compare()
        twins.skip(rng.choice([MINUTE, HOUR, DAY]) + rng.randrange(HOUR))


def _step(twins: Twins, machine: int, price: int, waiting: list[int], rng: Random) -> None:
    held, leasing = twins.model.leasing.machines[machine], twins.model.leasing
    running = twins.model.faults.running(machine)
    leased = [n for n, lease in leasing.leases.items() if not lease.closed]
    kind = rng.randrange(6)
    if running is not None:
        twins.rises(machine)
        waiting.append(running)
    elif kind == 0 and leased:
        twins.close(rng.choice(leased))
    elif kind <= 2 and held.leased < held.cells and held.stake >= held.gpus * twins.rules.min_stake_per_gpu:
        cells = rng.choice([n for n in (1, 2, 4, 8) if n <= held.cells - held.leased] or [1])
        twins.rent(rng.choice(TENANTS), machine, cells, rng.randrange(HOUR, 9 * DAY), price)
    elif kind == 3 and waiting:
        _settle(twins, waiting.pop(), rng)
    elif kind == 4:
        fault = twins.verify(rng.choice(TENANTS), machine, rng)
        if fault is not None:
            waiting.append(fault)
    else:
        twins.falls(machine, rng)


def _settle(twins: Twins, number: int, rng: Random) -> None:
    fault = twins.model.faults.faults[number]
    if fault.state is not faults.State.FILED:
        return
    if twins.now <= fault.deadline:
        twins.apply(number)
        twins.skip(1)
        if twins.arbiter != "0x" + "0" * 40 and rng.random() < 0.5 and twins.now < fault.deadline:
            twins.appeal(number, rng.random() < 0.5)
            twins.skip(1)
    if fault.state is not faults.State.DROPPED:
        twins.execute(number)
