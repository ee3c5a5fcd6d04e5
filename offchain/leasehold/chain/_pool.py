"""The contracts as objects: one coroutine for each function, dataclasses in and out.

A write takes a `Sender`, waits until the transaction is mined and returns its `Receipt`; what a contract
would refuse is raised as the `ContractError` of that name before anything is sent. Amounts are token
units, durations seconds.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from leasehold.chain._abi import Function, functions
from leasehold.chain._decode import decode_log
from leasehold.chain._deployment import Deployment
from leasehold.chain._events import LeaseOpened, MachineRegistered
from leasehold.chain._log import Event
from leasehold.chain._rpc import Rpc
from leasehold.chain._sender import Sender
from leasehold.chain._types import (
    Call,
    Lease,
    LeaseRequest,
    LeaseState,
    Machine,
    MachineStatus,
    Params,
    ProviderAccount,
    Receipt,
    Terms,
)
from leasehold.errors import ChainError, WalletError

E = TypeVar("E", bound=Event)


@dataclass(frozen=True, slots=True)
class ProposedParams:
    """version is 0 when nothing is proposed."""

    version: int
    in_force_at: int


class Contract:
    """A contract at an address. `sender` may be left out where only reads are wanted."""

    _abi: str

    def __init__(self, rpc: Rpc, address: str, sender: Sender | None = None) -> None:
        self.address = address
        self._rpc = rpc
        self._sender = sender

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.address})"

    @classmethod
    def encode(cls, function: str, *values: object) -> bytes:
        """The calldata of a function, named as in Solidity, for `multicall` and `Accounts.execute`."""
        return cls._function(function).encode(*values)

    @classmethod
    def _function(cls, name: str) -> Function:
        return functions(cls._abi)[name]

    async def _read(self, name: str, *values: object) -> Any:
        function = self._function(name)
        answer = await self._rpc.eth_call(self.address, function.encode(*values))
        if not answer:
            raise ChainError(
                f"There is no contract at {self.address}: check the deployment file and the RPC address."
            )
        decoded = function.decode(answer)
        return decoded[0] if len(decoded) == 1 else decoded

    async def _write(self, name: str, *values: object) -> Receipt:
        if self._sender is None:
            raise WalletError(f"`{name}` needs a key and none is unlocked: name a wallet.")
        return await self._sender.send(self.address, self._function(name).encode(*values))


class Pool(Contract):
    """A pool of machines: `IController`. Its documentation stands in contracts/interfaces/IController.sol."""

    _abi = "Controller"

    def __init__(self, rpc: Rpc, deployment: Deployment, sender: Sender | None = None) -> None:
        super().__init__(rpc, deployment.controller, sender)
        self.deployment = deployment

    # ------------------------------------------------------------------------------------------------- ledger

    async def deposit(self, to: str, amount: int) -> Receipt:
        return await self._write("deposit", to, amount)

    async def deposit_with_permit(
        self, to: str, amount: int, deadline: int, v: int, r: bytes, s: bytes
    ) -> Receipt:
        return await self._write("depositWithPermit", to, amount, deadline, v, r, s)

    async def transfer(self, to: str, amount: int) -> Receipt:
        """Moves ledger balance to another account of the pool."""
        return await self._write("transfer", to, amount)

    async def withdraw(self, to: str, amount: int) -> Receipt:
        """Pays ledger balance out as tokens."""
        return await self._write("withdraw", to, amount)

    async def multicall(self, calls: Sequence[bytes]) -> Receipt:
        """All of the calls (made by `encode`) in one transaction, or none."""
        return await self._write("multicall", list(calls))

    async def balance_of(self, account: str) -> int:
        """The account's ledger balance."""
        return int(await self._read("balanceOf", account))

    # ----------------------------------------------------------------------------------------------- machines

    async def register(
        self, terms: Terms, gpus: int, hardware: bytes, contact: bytes, operator: str
    ) -> tuple[int, Receipt]:
        """Registers a machine and stakes for it; returns its id. The digests are SHA-256 of the documents."""
        receipt = await self._write("register", terms, gpus, hardware, contact, operator)
        return self._event(receipt, MachineRegistered).machine, receipt

    async def set_terms(self, machine: int, terms: Terms) -> Receipt:
        return await self._write("setTerms", machine, terms)

    async def set_hardware(self, machine: int, hardware: bytes) -> Receipt:
        return await self._write("setHardware", machine, hardware)

    async def set_contact(self, machine: int, contact: bytes) -> Receipt:
        return await self._write("setContact", machine, contact)

    async def set_operator(self, machine: int, operator: str) -> Receipt:
        return await self._write("setOperator", machine, operator)

    async def withhold(self, machine: int, cells: int) -> Receipt:
        """Takes exactly `cells` (bit `8 × gpu + cell`) out of sale; leased ones stay leased."""
        return await self._write("withhold", machine, cells)

    async def delist(self, machine: int) -> Receipt:
        return await self._write("delist", machine)

    async def relist(self, machine: int) -> Receipt:
        return await self._write("relist", machine)

    async def add_stake(self, machine: int, amount: int) -> Receipt:
        return await self._write("addStake", machine, amount)

    async def recover(self, machine: int) -> Receipt:
        """Clears the stall that an unstarted lease left."""
        return await self._write("recover", machine)

    async def retire(self, machine: int) -> Receipt:
        return await self._write("retire", machine)

    async def unstake(self, machine: int) -> Receipt:
        return await self._write("unstake", machine)

    # ------------------------------------------------------------------------------------------------- leases

    async def open(self, request: LeaseRequest) -> tuple[int, Receipt]:
        """Opens a lease and returns its id."""
        receipt = await self._write("open", request)
        return self._event(receipt, LeaseOpened).lease, receipt

    async def start(self, lease: int, endpoint: bytes) -> Receipt:
        """Starts the bill. endpoint: SHA-256 of the document that says where the lease can be reached."""
        return await self._write("start", lease, endpoint)

    async def decline(self, lease: int, reason: str) -> Receipt:
        """Refunds a lease that cannot be run. reason: a short ASCII code such as `image-unknown`."""
        return await self._write("decline", lease, reason.encode("ascii").ljust(32, b"\0"))

    async def cancel_unstarted(self, lease: int) -> Receipt:
        return await self._write("cancelUnstarted", lease)

    async def reject(self, lease: int) -> Receipt:
        return await self._write("reject", lease)

    async def extend(self, lease: int, duration: int) -> Receipt:
        """Adds `duration` seconds to the lease's end."""
        return await self._write("extend", lease, duration)

    async def set_workload(self, lease: int, workload: bytes) -> Receipt:
        return await self._write("setWorkload", lease, workload)

    async def close(self, lease: int) -> Receipt:
        return await self._write("close", lease)

    async def terminate(self, lease: int) -> Receipt:
        """Gives notice."""
        return await self._write("terminate", lease)

    async def claim(self, leases: Sequence[int]) -> Receipt:
        return await self._write("claim", list(leases))

    async def publish_result(self, lease: int, cid: bytes) -> Receipt:
        """cid: the output's CID in its binary form."""
        return await self._write("publishResult", lease, cid)

    # --------------------------------------------------------------------------------------------------- pool

    async def pull_fees(self, providers: Sequence[str]) -> Receipt:
        return await self._write("pullFees", list(providers))

    async def propose_params(self, params: Params) -> Receipt:
        return await self._write("proposeParams", params)

    async def cancel_params(self) -> Receipt:
        return await self._write("cancelParams")

    async def set_paused(self, paused: bool) -> Receipt:
        return await self._write("setPaused", paused)

    async def set_treasury(self, treasury: str) -> Receipt:
        return await self._write("setTreasury", treasury)

    async def transfer_ownership(self, owner: str) -> Receipt:
        return await self._write("transferOwnership", owner)

    async def accept_ownership(self) -> Receipt:
        return await self._write("acceptOwnership")

    # -------------------------------------------------------------------------------------------------- reads

    async def machine_of(self, machine: int) -> Machine:
        """The machine; of one that was never registered, all zeros and MachineStatus.NONE."""
        view = await self._read("machineOf", machine)
        status, terms = MachineStatus(view.pop("status")), Terms(**view.pop("terms"))
        return Machine(id=machine, status=status, terms=terms, **view)

    async def lease_of(self, lease: int) -> Lease:
        """The lease; LeaseState.NONE when its slot was never used or serves another generation."""
        view = await self._read("leaseOf", lease)
        return Lease(id=lease, state=LeaseState(view.pop("state")), **view)

    async def terms_of(self, machine: int, revision: int) -> tuple[Terms, int]:
        """The terms of a revision, and the version of the parameters that it accepted."""
        terms, version = await self._read("termsOf", machine, revision)
        return Terms(**terms), int(version)

    async def account_of(self, provider: str) -> ProviderAccount:
        return ProviderAccount(**await self._read("accountOf", provider))

    async def params(self, version: int) -> Params:
        return Params(**await self._read("params", version))

    async def params_version(self) -> int:
        """The version in force now."""
        return int(await self._read("paramsVersion"))

    async def proposed_params(self) -> ProposedParams:
        version, in_force_at = await self._read("proposedParams")
        return ProposedParams(int(version), int(in_force_at))

    async def machine_count(self) -> int:
        return int(await self._read("machineCount"))

    async def slot_count(self) -> int:
        return int(await self._read("slotCount"))

    async def paused(self) -> bool:
        return bool(await self._read("paused"))

    async def treasury(self) -> str:
        return str(await self._read("treasury"))

    async def owner(self) -> str:
        return str(await self._read("owner"))

    async def pending_owner(self) -> str:
        return str(await self._read("pendingOwner"))

    async def token(self) -> str:
        return str(await self._read("token"))

    async def accounts(self) -> str:
        return str(await self._read("accounts"))

    async def extsload(self, slots: Sequence[bytes]) -> tuple[bytes, ...]:
        return tuple(await self._read("extsload", list(slots)))

    # ------------------------------------------------------------------------------------------------- events

    def events(self, receipt: Receipt) -> list[Event]:
        """The pool's events in a receipt, in order."""
        mine = (log for log in receipt.logs if str(log["address"]).lower() == self.address.lower())
        return [event for log in mine if (event := decode_log(log)) is not None]

    def _event(self, receipt: Receipt, kind: type[E]) -> E:
        return first_event(self.events(receipt), kind)


def first_event(events: Iterable[Event], kind: type[E]) -> E:
    """The first event of a kind. Raises ChainError when there is none."""
    for event in events:
        if isinstance(event, kind):
            return event
    raise ChainError(f"The transaction left no {kind.__name__}: check that the deployment file names a pool.")


class AccountsContract(Contract):
    """Who may act for an account: `IAccounts`."""

    _abi = "Accounts"

    async def execute(
        self, account: str, calls: Sequence[Call], nonce: int, deadline: int, proof: bytes
    ) -> Receipt:
        """Makes `calls` as `account`, whoever sends them. proof: over the `Execute` digest."""
        return await self._write("execute", account, list(calls), nonce, deadline, proof)

    async def is_authorized(self, account: str, digest: bytes, proof: bytes) -> bool:
        """Whether `proof` shows that `account` approved `digest`."""
        return bool(await self._read("isAuthorized", account, digest, proof))

    async def nonce_of(self, account: str, key: int = 0) -> int:
        """The next nonce of `key`, already shifted: `key << 64 | sequence`."""
        return int(await self._read("nonceOf", account, key))

    async def actor(self) -> str:
        return str(await self._read("actor"))

    async def execute_digest(self, account: str, calls: Sequence[Call], nonce: int, deadline: int) -> bytes:
        return bytes(await self._read("executeDigest", account, list(calls), nonce, deadline))


class FactoryContract(Contract):
    """The list of pools: `IControllerFactory`."""

    _abi = "ControllerFactory"

    async def pools(self, offset: int, limit: int) -> tuple[str, ...]:
        return tuple(await self._read("pools", offset, limit))

    async def pool_count(self) -> int:
        return int(await self._read("poolCount"))

    async def is_pool(self, controller: str) -> bool:
        return bool(await self._read("isPool", controller))

    async def accounts(self) -> str:
        return str(await self._read("accounts"))

    async def create_pool(self, token: str, owner: str, treasury: str, params: Params) -> Receipt:
        return await self._write("createPool", token, owner, treasury, params)
