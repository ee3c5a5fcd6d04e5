"""One pool, deployed once; every test begins from the same block."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from typing import Any

import brownie
import pytest
from brownie import (
    Accounts,
    Committee,
    Controller,
    ControllerExt,
    ControllerFactory,
    ControllerMoves,
    Directory,
    Faults,
    Reputation,
    TestToken,
    chain,
    interface,
)
from eth_account import Account
from eth_account.messages import encode_typed_data
from signing import VALIDATORS, Group, consent, key_proof, keys_of_people, outage_digest
from web3.middleware import Web3Middleware
from web3.types import RPCEndpoint
from world import (
    ACTIVE,
    BURNT,
    CONTACT,
    DAY,
    ENDPOINT,
    HARDWARE,
    MATURITY,
    OPENED,
    SEAT,
    SINK,
    UNIT,
    LeaseRequest,
    Params,
    Terms,
    later,
    lease_of,
    mature,
    now,
)

ROLES = ["owner", "treasury", "provider", "operator", "tenant", "neighbour", "thief"]
WEALTH = 1_000_000 * UNIT


@pytest.fixture(scope="session")
def people() -> dict[str, Any]:
    """Everybody by role."""
    return dict(zip(ROLES, brownie.accounts, strict=False))


@pytest.fixture(scope="session")
def keys() -> dict[str, str]:
    """Private keys by address, to sign typed data with."""
    return keys_of_people()


@pytest.fixture(scope="session")
def owner(people):
    return people["owner"]


@pytest.fixture(scope="session")
def treasury(people):
    return people["treasury"]


@pytest.fixture(scope="session")
def provider(people):
    return people["provider"]


@pytest.fixture(scope="session")
def operator(people):
    return people["operator"]


@pytest.fixture(scope="session")
def tenant(people):
    return people["tenant"]


@pytest.fixture(scope="session")
def neighbour(people):
    """Anybody with money and no part in what happens."""
    return people["neighbour"]


@pytest.fixture(scope="session")
def thief(people):
    """Anybody with money who wants more."""
    return people["thief"]


@pytest.fixture(scope="session", autouse=True)
def still_clock() -> None:
    """The chain's clock stands still unless a test moves it: a slow machine bills no seconds more."""
    brownie.web3.provider.make_request(RPCEndpoint("anvil_setBlockTimestampInterval"), [0])


class AskAgain(Web3Middleware):
    """For the moment in which Anvil has counted a transaction but does not know it, neither as waiting nor as mined.
    Brownie asks for the nonce first and for the receipt then, and gives up what has the one without the other.
    """

    METHODS = frozenset({"eth_getTransactionByHash", "eth_getTransactionReceipt"})
    PATIENCE = 30  # seconds, on a machine with much else to do

    def wrap_make_request(self, make_request: Any) -> Any:
        def ask(method: Any, params: Any) -> Any:
            response = make_request(method, params)
            deadline = time.monotonic() + self.PATIENCE
            while method in self.METHODS and response.get("result") is None:
                if time.monotonic() > deadline:
                    break
                time.sleep(0.01)
                response = make_request(method, params)
            return response

        return ask


@pytest.fixture(scope="session", autouse=True)
def patient() -> None:
    """No transaction is given up because it was just being mined."""
    brownie.web3.middleware_onion.add(AskAgain)


@pytest.fixture(scope="session")
def token(people):
    token = TestToken.deploy("Play Dollar", "PLAY", 18, {"from": people["owner"]})
    for who in people.values():
        token.mint(who, WEALTH, {"from": who})
    return token


@pytest.fixture(scope="session")
def hub(owner):
    """`Accounts`, and with it the factory: the two name each other."""
    return Accounts.deploy(owner.get_deployment_address(owner.nonce + 8), {"from": owner})


@pytest.fixture(scope="session")
def factory(hub, owner):
    moves = ControllerMoves.deploy(hub, {"from": owner})
    extension = ControllerExt.deploy(hub, moves, {"from": owner})
    implementation = Controller.deploy(hub, extension, {"from": owner})
    companions = [part.deploy(hub, {"from": owner}) for part in (Committee, Faults, Reputation, Directory)]
    return ControllerFactory.deploy(implementation, *companions, {"from": owner})


@pytest.fixture(scope="session")
def create_pool(factory, owner, treasury, people) -> Callable[..., Any]:
    """A pool for a token, with everybody's allowance."""

    def create(token: Any, params: Params = Params()) -> Any:  # noqa: B008 - a NamedTuple does not change
        tx = factory.createPool(token, owner, treasury, params, {"from": owner})
        pool = interface.IController(tx.events["PoolCreated"]["controller"])
        for who in people.values():
            token.approve(pool, 2**256 - 1, {"from": who})
        return pool

    return create


@pytest.fixture(scope="session")
def pool(create_pool, token, provider, operator):
    """The pool, with machine 1: two GPUs of the provider's."""
    pool = create_pool(token)
    pool.register(
        Terms(), 2, 1, HARDWARE, CONTACT, operator, consent(pool, provider, operator), {"from": provider}
    )
    # Brownie collects garbage at every revert, which costs more than most tests unless what stays is set aside.
    gc.freeze()
    return pool


@pytest.fixture(scope="session")
def committee(pool):
    return interface.ICommittee(pool.companions()[0])


@pytest.fixture(scope="session")
def faults(pool):
    return interface.IFaults(pool.companions()[1])


@pytest.fixture(scope="session")
def reputation(pool):
    return interface.IReputation(pool.companions()[2])


@pytest.fixture(scope="session")
def directory(pool):
    return interface.IDirectory(pool.companions()[3])


@pytest.fixture
def validators(pool, committee, owner) -> list[Any]:
    """Five validators with a seat each, matured."""
    who = list(brownie.accounts)[VALIDATORS]
    for validator in who:
        pool.deposit(validator, SEAT, {"from": owner})
        committee.join(1, {"from": validator})
    mature(MATURITY)
    return who


@pytest.fixture
def signed_outage(pool, validators, keys) -> Callable[..., tuple[list[int], list[bytes]]]:
    """Seats and proofs of the validators, all of them or the first `count`, who say that a machine was down."""

    def sign(machine: int, from_: int, to: int, count: int = 5) -> tuple[list[int], list[bytes]]:
        said = [outage_digest(pool, who, machine, from_, to) for who in validators[:count]]
        proofs = [key_proof(keys[who.address], word_) for who, word_ in zip(validators, said, strict=False)]
        return list(range(1, count + 1)), proofs

    return sign


@pytest.fixture
def attest(faults, signed_outage, neighbour) -> Callable[..., Any]:
    """The quorum says that a machine was down, or with `to` 0 that it is; a stranger submits it."""

    def submit(machine: int, from_: int, to: int = 0) -> Any:
        return faults.attest(machine, 0, from_, to, *signed_outage(machine, from_, to), {"from": neighbour})

    return submit


@pytest.fixture
def signers(committee) -> Callable[..., list[tuple[int, str, int]]]:
    """The quorum of some seats, as it is logged when they have signed."""

    def named(seats: Any) -> list[tuple[int, str, int]]:
        held = ((seat, committee.seatOf(seat).dict()) for seat in seats)
        return [(seat, seen["validator"], seen["level"]) for seat, seen in held]

    return named


@pytest.fixture
def group(hub, keys) -> Callable[..., Group]:
    """Makes a group: a threshold and the signers."""

    def make(threshold: int, *signers: Any, salt: int = 0) -> Group:
        return Group(hub, keys, threshold, *signers, salt=salt)

    return make


@pytest.fixture(autouse=True)
def fn_isolation(pool) -> Iterator[None]:
    """Brownie's fixture of this name goes back to block 0, and would deploy everything once for each file."""
    chain.snapshot()
    yield
    chain.revert()


@pytest.fixture(scope="session")
def odd_pool(create_pool, people) -> Callable[..., Any]:
    """A token of the kind given, held by everybody, and a pool for it."""

    def create(kind: Any) -> tuple[Any, Any]:
        token = kind.deploy({"from": people["owner"]})
        for who in people.values():
            token.mint(who, WEALTH, {"from": who})
        return token, create_pool(token)

    return create


@pytest.fixture
def opened(pool, tenant) -> int:
    """A lease of one GPU of machine 1, for an hour, that waits for its start."""
    return lease_of(pool.open(LeaseRequest(1), {"from": tenant}))


@pytest.fixture
def running(pool, operator, opened) -> int:
    """A lease of one GPU of machine 1, for an hour, from now on."""
    pool.start(opened, ENDPOINT, {"from": operator})
    return opened


@pytest.fixture
def rent(pool) -> Callable[..., int]:
    """Opens a lease and has it started at once: of a whole GPU for an hour, unless other wishes are named."""

    def begin(who: Any, machine: int = 1, **wishes: Any) -> int:
        lease = lease_of(pool.open(LeaseRequest(machine, **wishes), {"from": who}))
        pool.start(lease, ENDPOINT, {"from": pool.machineOf(machine).dict()["operator"]})
        return lease

    return begin


@pytest.fixture
def books(pool, token, people) -> Callable[..., None]:
    """Checks that the pool holds what it owes: ledgers, stakes, fees due, and what is left in live leases."""

    def balanced(*others: Any) -> None:
        nobody = (SINK, BURNT)
        parts = pool.companions()
        everybody = {str(who) for who in [*people.values(), *brownie.accounts, *parts, *nobody, *others]}
        owed = sum(pool.balanceOf(who) + pool.accountOf(who).dict()["feesDue"] for who in everybody)
        owed += sum(pool.machineOf(machine).dict()["stake"] for machine in range(1, pool.machineCount() + 1))
        for slot in range(1, pool.slotCount() + 1):
            for generation in range(3):
                lease = pool.leaseOf(slot << 16 | generation).dict()
                if lease["state"] in (OPENED, ACTIVE):
                    owed += lease["deposit"] - lease["settled"]
        assert token.balanceOf(pool) == owed

    return balanced


@pytest.fixture
def stalled(pool, neighbour, opened) -> int:
    """Machine 1, after a lease that it did not start."""
    later(Params().start_window + 1)
    pool.cancelUnstarted(opened, {"from": neighbour})
    return 1


@pytest.fixture
def new_params(pool, owner, neighbour) -> Callable[[Params], None]:
    """Brings parameters into force, which takes two days."""

    def propose(params: Params) -> None:
        pool.proposeParams(params, {"from": owner})
        later(2 * DAY)
        pool.deposit(neighbour, 1, {"from": neighbour})

    return propose


@pytest.fixture
def permit(pool, token, keys) -> Callable[..., tuple[int, int, bytes, bytes]]:
    """Signs that the pool may take `value` of the owner's tokens."""

    def sign(owner: Any, value: int) -> tuple[int, int, bytes, bytes]:
        deadline = now() + DAY
        message = {
            "owner": owner.address,
            "spender": pool.address,
            "value": value,
            "nonce": token.nonces(owner),
            "deadline": deadline,
        }
        types = {"Permit": [(name, "uint256") for name in message]}
        fields = [
            {"name": name, "type": "address" if name in ("owner", "spender") else kind}
            for name, kind in types["Permit"]
        ]
        signed = Account.sign_typed_data(
            keys[owner.address],
            {"name": "Play Dollar", "version": "1", "chainId": chain.id, "verifyingContract": token.address},
            {"Permit": fields},
            message,
        )
        return deadline, signed.v, signed.r.to_bytes(32, "big"), signed.s.to_bytes(32, "big")

    return sign


@pytest.fixture
def approve_calls(hub, keys) -> Callable[..., bytes]:
    """An account's proof over calls for `Accounts.execute`, by the key of `signer`."""

    def sign(account: Any, calls: list[tuple[Any, Any]], nonce: int, deadline: int, **options: Any) -> bytes:
        signer = options.get("signer", account)
        data = {
            "types": {
                "EIP712Domain": [
                    {"name": "name", "type": "string"},
                    {"name": "version", "type": "string"},
                    {"name": "chainId", "type": "uint256"},
                    {"name": "verifyingContract", "type": "address"},
                ],
                "Call": [{"name": "target", "type": "address"}, {"name": "data", "type": "bytes"}],
                "Execute": [
                    {"name": "account", "type": "address"},
                    {"name": "calls", "type": "Call[]"},
                    {"name": "nonce", "type": "uint256"},
                    {"name": "deadline", "type": "uint256"},
                ],
            },
            "primaryType": "Execute",
            "domain": {
                "name": "Leasehold",
                "version": "1",
                "chainId": options.get("chain_id", chain.id),
                "verifyingContract": options.get("verifier", hub.address),
            },
            "message": {
                "account": str(account),
                "calls": [
                    {"target": str(target), "data": bytes.fromhex(str(data)[2:])} for target, data in calls
                ],
                "nonce": nonce,
                "deadline": deadline,
            },
        }
        signed = Account.sign_message(encode_typed_data(full_message=data), keys[str(signer)])
        return options.get("kind", b"\x01") + bytes(signed.signature)

    return sign


@pytest.fixture
def execute(hub, approve_calls, neighbour) -> Callable[..., Any]:
    """Acts as `account` through `Accounts`, signed by its key and sent by the neighbour, a stranger."""

    def act(account: Any, *calls: tuple[Any, Any], **options: Any) -> Any:
        nonce = hub.nonceOf(account, options.pop("key", 0))
        deadline = now() + DAY
        proof = approve_calls(account, list(calls), nonce, deadline, **options)
        return hub.execute(account, list(calls), nonce, deadline, proof, {"from": neighbour})

    return act


@pytest.fixture
def hook(web3):
    """Calls a hook of a contract. Brownie would mix up the events of an address that it knows by two interfaces."""
    hooks = web3.eth.contract(abi=interface.IPoolHooks.abi)

    def call(contract, name, *arguments, by):
        return by.transfer(contract, data=hooks.encode_abi(name, args=list(arguments)))

    return call
