"""The contracts as objects: one coroutine for each function, dataclasses in and out.

A write takes a `Sender`, waits until the transaction is mined and returns its `Receipt`; what a contract
would refuse is raised as the `ContractError` of that name before anything is sent. Amounts are token
units, durations seconds.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from leasehold.chain._abi import code
from leasehold.chain._accounts import AccountsContract
from leasehold.chain._companions import Committee, Directory, Faults, Reputation
from leasehold.chain._contract import Contract
from leasehold.chain._decode import decode_log, topic_of
from leasehold.chain._deployment import Deployment
from leasehold.chain._generated.events import (
    FailedOver,
    LeaseOpened,
    MachineRegistered,
    PoolCreated,
    WorkloadSet,
)
from leasehold.chain._rpc import Rpc
from leasehold.chain._sender import Sends
from leasehold.chain._typed import Offer
from leasehold.chain._types import (
    Companions,
    Consent,
    Lease,
    LeaseRequest,
    Machine,
    Params,
    ProviderAccount,
    Receipt,
    Terms,
)
from leasehold.chain._views import lease_of_view, machine_of_view


@dataclass(frozen=True, slots=True)
class ProposedParams:
    """version is 0 when nothing is proposed."""

    version: int
    in_force_at: int


class Pool(Contract):
    """A pool of machines: `IController`. Its documentation stands in contracts/interfaces/IController.sol."""

    _abi = "Controller"

    def __init__(self, rpc: Rpc, deployment: Deployment, sender: Sends | None = None) -> None:
        super().__init__(rpc, deployment.controller, sender)
        self.deployment = deployment
        self._companions: Companions | None = None

    @property
    def acting(self) -> AccountsContract:
        """The `Accounts` by which others act for an account here, with the same sender."""
        return AccountsContract(self._rpc, self.deployment.accounts, self._sender)

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

    @classmethod
    def parts(cls, data: bytes) -> tuple[bytes, ...]:
        """The calls in calldata: those of a `multicall`, or it alone. Raises ValueError for half of one."""
        together = cls._function("multicall")
        return tuple(together.arguments(data)["calls"]) if data[:4] == together.selector else (data,)

    async def balance_of(self, account: str) -> int:
        """The account's ledger balance."""
        return int(await self._read("balanceOf", account))

    # ----------------------------------------------------------------------------------------------- machines

    async def register(
        self,
        terms: Terms,
        gpus: int,
        smallest_share: int,
        hardware: bytes,
        contact: bytes,
        operator: str,
        consent: Consent,
    ) -> tuple[int, Receipt]:
        """Registers a machine and stakes for it; returns its id. The digests are SHA-256 of the documents.

        smallest_share: the least that it leases, 1, 2, 4 or 8 cells. consent: the operator's, to serve this account.
        """
        receipt = await self._write(
            "register", terms, gpus, smallest_share, hardware, contact, operator, consent
        )
        return self._event(receipt, MachineRegistered).machine, receipt

    async def set_terms(self, machine: int, terms: Terms) -> Receipt:
        return await self._write("setTerms", machine, terms)

    async def set_hardware(self, machine: int, hardware: bytes) -> Receipt:
        return await self._write("setHardware", machine, hardware)

    async def set_contact(self, machine: int, contact: bytes) -> Receipt:
        return await self._write("setContact", machine, contact)

    async def set_operator(self, machine: int, operator: str, consent: Consent) -> Receipt:
        return await self._write("setOperator", machine, operator, consent)

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
        return await self._write("decline", lease, code(reason))

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

    async def open_with_offer(self, request: LeaseRequest, offer: Offer, proof: bytes) -> tuple[int, Receipt]:
        """`open` at terms that the provider signed. proof: the provider's, over the offer."""
        receipt = await self._write("openWithOffer", request, offer, proof)
        return self._event(receipt, LeaseOpened).lease, receipt

    async def cancel_offers(self, word: int, mask: int) -> Receipt:
        """Spoils offers of one's own: each bit of `mask` is the nonce `word << 8 | bit`."""
        return await self._write("cancelOffers", word, mask)

    async def resize(self, lease: int, share: int, placement: int = 0) -> Receipt:
        """Another share (cells) from now on, at the same price and until the same end."""
        return await self._write("resize", lease, share, placement)

    async def failover(
        self, lease: int, machine: int, revision: int, placement: int, workload: bytes
    ) -> tuple[int, Receipt]:
        """While the lease's machine is down, opens its backup in its place; returns the backup's id.

        The arguments are what the lease's `backup` is the digest of.
        """
        receipt = await self._write("failover", lease, machine, revision, placement, workload)
        return self._event(receipt, FailedOver).backup, receipt

    async def transfer_lease(self, lease: int, to: str, deadline: int, proof: bytes) -> Receipt:
        """Gives the lease to `to`. proof: its, over `AcceptTransfer` in the domain of `Accounts`."""
        return await self._write("transferLease", lease, to, deadline, proof)

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

    async def set_gated(self, gated: bool) -> Receipt:
        """Whether registering takes a licence from now on."""
        return await self._write("setGated", gated)

    async def set_treasury(self, treasury: str) -> Receipt:
        return await self._write("setTreasury", treasury)

    async def transfer_ownership(self, owner: str) -> Receipt:
        return await self._write("transferOwnership", owner)

    async def accept_ownership(self) -> Receipt:
        return await self._write("acceptOwnership")

    # -------------------------------------------------------------------------------------------------- reads

    async def machine_of(self, machine: int) -> Machine:
        """The machine; of one that was never registered, all zeros and MachineStatus.NONE."""
        return machine_of_view(machine, await self._read("machineOf", machine))

    async def lease_of(self, lease: int) -> Lease:
        """The lease; LeaseState.NONE when its slot was never used or serves another generation."""
        return lease_of_view(lease, await self._read("leaseOf", lease))

    async def terms_of(self, machine: int, revision: int) -> tuple[Terms, int]:
        """The terms of a revision, and the version of the parameters that it accepted."""
        terms, version = await self._read("termsOf", machine, revision)
        return Terms(**terms), int(version)

    async def account_of(self, provider: str) -> ProviderAccount:
        return ProviderAccount(**await self._read("accountOf", provider))

    async def params(self, version: int) -> Params:
        return Params(**await self._read("params", version))

    async def accepted_at(self, machine: int, time: int) -> int:
        """The version that the machine's provider had accepted then: an outage that began then is judged by it."""
        return int(await self._read("acceptedAt", machine, time))

    async def answer_until(self, machine: int, asked_at: int) -> int:
        """The last moment to answer a challenge of the machine: by the rules that were accepted when it was asked."""
        return asked_at + (await self.params(await self.accepted_at(machine, asked_at))).challenge_window

    async def params_version(self) -> int:
        """The version in force now."""
        return int(await self._read("paramsVersion"))

    async def proposed_params(self) -> ProposedParams:
        version, in_force_at = await self._read("proposedParams")
        return ProposedParams(int(version), int(in_force_at))

    async def offers_of(self, provider: str, word: int) -> int:
        """Bits of the provider's offers `word << 8 | bit` that are used or cancelled."""
        return int(await self._read("offersOf", provider, word))

    async def offer_digest(self, offer: Offer) -> bytes:
        return bytes(await self._read("offerDigest", offer))

    async def consent_digest(self, provider: str, operator: str, deadline: int) -> bytes:
        """What `operator` signs to serve `provider` until `deadline`."""
        return bytes(await self._read("consentDigest", provider, operator, deadline))

    async def machine_count(self) -> int:
        return int(await self._read("machineCount"))

    async def slot_count(self) -> int:
        return int(await self._read("slotCount"))

    async def paused(self) -> bool:
        return bool(await self._read("paused"))

    async def gated(self) -> bool:
        """Whether registering takes a licence."""
        return bool(await self._read("gated"))

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

    # ---------------------------------------------------------------------------------------------- companions

    async def companions(self) -> Companions:
        """Asked of the chain once: a pool's companions never change."""
        if self._companions is None:
            self._companions = Companions(*await self._read("companions"))
        return self._companions

    async def committee(self) -> Committee:
        return Committee(self._rpc, (await self.companions()).committee, self._sender)

    async def faults(self) -> Faults:
        return Faults(self._rpc, (await self.companions()).faults, self._sender)

    async def reputation(self) -> Reputation:
        return Reputation(self._rpc, (await self.companions()).reputation, self._sender)

    async def directory(self) -> Directory:
        return Directory(self._rpc, (await self.companions()).directory, self._sender)

    async def contracts(self) -> dict[str, str]:
        """What `decode_call` wants to know: which contract lives at which of the pool's addresses."""
        own = await self.companions()
        return {
            self.address: "Controller",
            self.deployment.accounts: "Accounts",
            own.committee: "Committee",
            own.faults: "Faults",
            own.reputation: "Reputation",
            own.directory: "Directory",
        }

    async def workload_of(self, lease: int, first_block: int) -> bytes | None:
        """The workload that the lease was opened with or that was set last, by the node's logs since that block; `None`
        if they do not tell.
        """
        query = {
            "address": self.address,
            "fromBlock": hex(first_block),
            "toBlock": "latest",
            "topics": [[topic_of(LeaseOpened), topic_of(WorkloadSet)], f"0x{lease:064x}"],
        }
        logs = await self._rpc.call("eth_getLogs", [query])
        logs.sort(key=lambda log: (int(log["blockNumber"], 16), int(log["logIndex"], 16)))
        named = [event for log in logs if isinstance(event := decode_log(log), LeaseOpened | WorkloadSet)]
        return next((event.workload for event in reversed(named) if event.lease == lease), None)

    async def event_sources(self) -> list[str]:
        """Whose events the index is made of: what an `EventWatcher` watches."""
        return list(await self.contracts())


class FactoryContract(Contract):
    """The list of pools: `IControllerFactory`."""

    _abi = "ControllerFactory"

    async def pools(self, offset: int, limit: int) -> tuple[str, ...]:
        return tuple(await self._read("pools", offset, limit))

    async def pool_count(self) -> int:
        return int(await self._read("poolCount"))

    async def is_pool(self, controller: str) -> bool:
        return bool(await self._read("isPool", controller))

    async def is_pool_contract(self, target: str) -> bool:
        """Whether `target` is a pool or a companion of one."""
        return bool(await self._read("isPoolContract", target))

    async def accounts(self) -> str:
        return str(await self._read("accounts"))

    async def create_pool(self, token: str, owner: str, treasury: str, params: Params) -> tuple[str, Receipt]:
        """Makes a pool with its companions; returns its address."""
        receipt = await self._write("createPool", token, owner, treasury, params)
        return self._event(receipt, PoolCreated).controller, receipt
