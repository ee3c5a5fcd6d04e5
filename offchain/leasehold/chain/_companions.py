"""A pool's companions: verification, outages, reputation, directory.

`Pool.committee`, `faults`, `reputation` and `directory` make them. Their documentation stands in
contracts/interfaces. Money that they take comes out of the sender's ledger in the pool, never out of its wallet.
"""

from collections.abc import Sequence

from leasehold.chain._abi import code
from leasehold.chain._contract import Contract
from leasehold.chain._decode import decode_log, topic_of
from leasehold.chain._generated.events import (
    Challenged,
    FaultFiled,
    OutageAttested,
    OutageOpened,
    QuorumSigned,
    SeatJoined,
    VerificationRequested,
)
from leasehold.chain._past import logs_since
from leasehold.chain._types import (
    Challenge,
    Fault,
    FaultKind,
    FaultState,
    Licence,
    Receipt,
    Round,
    RoundState,
    Seat,
    SeatSigner,
    SlashWindow,
)
from leasehold.errors import ChainError


class Companion(Contract):
    """What every companion has."""

    async def controller(self) -> str:
        """The pool that it belongs to."""
        return str(await self._read("controller"))

    async def accounts(self) -> str:
        """Whom it believes that an account has approved something."""
        return str(await self._read("accounts"))


class Committee(Companion):
    """Validators' seats, and verification of machines: `ICommittee`."""

    _abi = "Committee"

    async def join(self, version: int) -> tuple[int, Receipt]:
        """Stakes a seat for the rules of `version`, which matures in three days; returns its id."""
        receipt = await self._write("join", version)
        return self._event(receipt, SeatJoined).seat, receipt

    async def top_up(self, seat: int, amount: int) -> Receipt:
        return await self._write("topUp", seat, amount)

    async def leave(self, seat: int) -> Receipt:
        """Begins to leave; `exit` in three weeks."""
        return await self._write("leave", seat)

    async def exit(self, seat: int) -> Receipt:
        """Gives the stake back to the validator's ledger. Anyone may send it."""
        return await self._write("exit", seat)

    async def request_verification(self, machine: int, revision: int) -> tuple[int, Receipt]:
        """Asks for the machine to be measured, for the pool's fee; returns the round."""
        receipt = await self._write("requestVerification", machine, revision)
        return self._event(receipt, VerificationRequested).round, receipt

    async def draw(self, round_: int) -> Receipt:
        """Draws the committee, or names another block if the last one is too old. Anyone may send it."""
        return await self._write("draw", round_)

    async def commit(self, round_: int, seat: int, commitment: bytes) -> Receipt:
        """commitment: made by `leasehold.chain.commitment`."""
        return await self._write("commit", round_, seat, commitment)

    async def reveal(
        self, round_: int, seat: int, passed: bool, spec: bytes, score: int, salt: bytes
    ) -> Receipt:
        return await self._write("reveal", round_, seat, passed, spec, score, salt)

    async def finalize(self, round_: int) -> Receipt:
        """Counts. Anyone may send it."""
        return await self._write("finalize", round_)

    async def seat_of(self, seat: int) -> Seat:
        return Seat(id=seat, **await self._read("seatOf", seat))

    async def seat_count(self) -> int:
        """The greatest id that a seat has had: ids are 1 to this."""
        return int(await self._read("seatCount"))

    async def matured_seats(self, version: int) -> int:
        """How many seats have matured, have not exited and judge under the rules of `version`."""
        return int(await self._read("maturedSeats", version))

    async def round_of(self, round_: int) -> Round:
        view = await self._read("roundOf", round_)
        return Round(id=round_, state=RoundState(view.pop("state")), **view)

    async def round_count(self) -> int:
        return int(await self._read("roundCount"))

    async def drawn_for(self, round_: int) -> tuple[int, ...]:
        """The seats of the round's committee."""
        return tuple(await self._read("drawnFor", round_))

    async def signers(self, quorum: bytes, first_block: int) -> tuple[SeatSigner, ...] | None:
        """Who signed as this quorum; `None` if the node's logs since that block do not tell."""
        topics = [topic_of(QuorumSigned), "0x" + quorum.hex()]
        logs = await logs_since(self._rpc, first_block, address=self.address, topics=topics)
        named = [decode_log(log) for log in logs]
        return next((event.signers for event in named if isinstance(event, QuorumSigned)), None)

    async def due_of(self, quorum: bytes) -> int:
        """What a quorum has earned and was not credited with yet."""
        return int(await self._read("dueOf", quorum))

    async def disowned_at(self, quorum: bytes, arbiter: str) -> int:
        """When `arbiter` took back a word of the quorum's for which it was not fined yet, or 0."""
        return int(await self._read("disownedAt", quorum, arbiter))

    async def pay_quorum(self, signers: Sequence[SeatSigner]) -> Receipt:
        """Credits a quorum's signers with what they have earned. Anyone may send it."""
        return await self._write("payQuorum", list(signers))

    async def fine_quorum(self, signers: Sequence[SeatSigner], arbiter: str) -> Receipt:
        """Fines those of a quorum, whose word `arbiter` has taken back, who joined under rules that name him. Anyone
        may send it."""
        return await self._write("fineQuorum", list(signers), arbiter)


class Faults(Companion):
    """Outages, challenges, slashes, appeals: `IFaults`."""

    _abi = "Faults"

    async def report_outage(self, machine: int) -> tuple[int, Receipt]:
        """The operator says that the machine is down from now on; returns the fault."""
        return self._fault(await self._write("reportOutage", machine))

    async def challenge(self, machine: int, lease: int) -> tuple[int, Receipt]:
        """A tenant asks for a sign of life, with a bond; returns the challenge's id."""
        receipt = await self._write("challenge", machine, lease)
        return self._event(receipt, Challenged).challenge, receipt

    async def answer(self, machine: int, issued_at: int = 0, proof: bytes = b"") -> Receipt:
        """The operator lives. Without a proof over `Answer`, the operator itself has to send it."""
        return await self._write("answer", machine, issued_at, proof)

    async def prove(self, machine: int) -> tuple[int, Receipt]:
        """Nobody answered in time: an outage runs. Returns the fault, 0 if an hour had passed since, or the machine
        had retired by then."""
        receipt = await self._write("prove", machine)
        return self._fault_in(receipt), receipt

    async def attest(
        self, machine: int, from_: int, to: int, seats: Sequence[int], proofs: Sequence[bytes], next_: int = 0
    ) -> tuple[int, Receipt]:
        """A quorum of seats (strictly ascending) signed `Outage`, each as its validator; `to` 0: still down.

        next_: the outage right after the gap that is to be filed, 0 for the gap up to the one that runs, or to now.
        Returns the fault.
        """
        return self._fault(await self._write("attest", machine, next_, from_, to, list(seats), list(proofs)))

    async def recover(self, machine: int, issued_at: int = 0, proof: bytes = b"") -> Receipt:
        """Ends the outage. Without the operator's proof over `Recover`, it or the provider has to send it."""
        return await self._write("recover", machine, issued_at, proof)

    async def roll(self, machine: int) -> Receipt:
        """Files an outage that has reached the highest tier, or whose machine has retired."""
        return await self._write("roll", machine)

    async def report_false_hardware(self, round_: int) -> tuple[int, Receipt]:
        """A committee measured other hardware than was declared; returns the fault."""
        return self._fault(await self._write("reportFalseHardware", round_))

    async def apply_outage(self, fault: int, leases: Sequence[int]) -> Receipt:
        """Takes the outage off what the leases owe, and registers what their tenants lost."""
        return await self._write("applyOutage", fault, list(leases))

    async def appeal(self, fault: int) -> Receipt:
        """The provider appeals, with a bond."""
        return await self._write("appeal", fault)

    async def rule(self, fault: int, stands: bool) -> Receipt:
        """The arbiter rules whom the fault's rules name."""
        return await self._write("rule", fault, stands)

    async def execute(self, fault: int) -> Receipt:
        """Moves the stake."""
        return await self._write("execute", fault)

    async def compensate(self, fault: int, leases: Sequence[int]) -> Receipt:
        """Credits the leases' tenants with their part."""
        return await self._write("compensate", fault, list(leases))

    async def fault_of(self, fault: int) -> Fault:
        view = await self._read("faultOf", fault)
        kind, state = FaultKind(view.pop("kind")), FaultState(view.pop("state"))
        return Fault(id=fault, kind=kind, state=state, **view)

    async def fault_count(self) -> int:
        return int(await self._read("faultCount"))

    async def running_fault(self, machine: int) -> int:
        """The machine's running outage, or 0."""
        return int(await self._read("runningFault", machine))

    async def challenge_of(self, machine: int) -> Challenge:
        return Challenge(**await self._read("challengeOf", machine))

    async def bond_of(self, machine: int, challenger: str) -> int:
        """What a challenge of `challenger` must hold now."""
        return int(await self._read("bondOf", machine, challenger))

    async def window_of(self, machine: int) -> SlashWindow:
        downtime, charged = await self._read("windowOf", machine)
        return SlashWindow(int(downtime), int(charged))

    async def slashed_of(self, provider: str) -> int:
        """All that the provider was slashed, halving every 90 days."""
        return int(await self._read("slashedOf", provider))

    def _fault(self, receipt: Receipt) -> tuple[int, Receipt]:
        fault = self._fault_in(receipt)
        if not fault:
            raise ChainError("The transaction left no fault", "check that the deployment file names a pool.")
        return fault, receipt

    def _fault_in(self, receipt: Receipt) -> int:
        """The fault that the receipt's events name first, or 0."""
        named = (OutageOpened, OutageAttested, FaultFiled)
        return next((event.fault for event in self.events(receipt) if isinstance(event, named)), 0)


class Reputation(Companion):
    """Scores, and ratings: `IReputation`."""

    _abi = "Reputation"

    async def rate(self, lease: int, stars: int, comment: bytes = bytes(32)) -> Receipt:
        """stars: 1 to 5. comment: its SHA-256, or zeros."""
        return await self._write("rate", lease, stars, comment)

    async def score_of(self, provider: str) -> int:
        """0 to 1000."""
        return int(await self._read("scoreOf", provider))

    async def discount_bps_of(self, provider: str) -> int:
        """By how much the least stake of the provider's machines is lowered."""
        return int(await self._read("discountBpsOf", provider))

    async def is_rated(self, lease: int) -> bool:
        return bool(await self._read("isRated", lease))


class Directory(Companion):
    """Services, and licences: `IDirectory`."""

    _abi = "Directory"

    async def announce(self, kind: str, endpoint: bytes, peer_id: bytes = b"") -> Receipt:
        """kind: access, scheduler, gateway, ipfs or seed. endpoint: SHA-256 of its document; zeros end the service."""
        return await self._write("announce", code(kind), endpoint, peer_id)

    async def issue_licence(self, account: str, kind: str, seats: int, expires_at: int) -> Receipt:
        """kind: `provider`, or a software's name. An expiry in the past takes the licence back."""
        return await self._write("issueLicence", account, code(kind), seats, expires_at)

    async def licence_of(self, account: str, kind: str) -> Licence:
        return Licence(**await self._read("licenceOf", account, code(kind)))

    async def is_licensed(self, account: str) -> bool:
        """Whether `account` may register machines in a gated pool."""
        return bool(await self._read("isLicensed", account))
