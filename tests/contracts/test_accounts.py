"""Acting for an account: anyone may submit what the account itself approved, once, as approved, in time."""

import pytest
from brownie import SmartWallet, chain
from eth_account import Account
from eth_utils.crypto import keccak
from world import (
    DAY,
    ENDPOINT,
    HOUR,
    NOBODY,
    PER_SECOND,
    UNIT,
    LeaseRequest,
    at,
    later,
    lease_of,
    now,
    plain,
    reverts,
)

CURVE = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


@pytest.fixture
def wallet(pool, token, tenant):
    """A smart account: the tenant owns it, and it has money in the ledger."""
    wallet = SmartWallet.deploy(tenant, {"from": tenant})
    pool.deposit(wallet, 100 * UNIT, {"from": tenant})
    return wallet


@pytest.fixture
def rich(pool, tenant):
    """The tenant, with money in the ledger."""
    pool.deposit(tenant, 100 * UNIT, {"from": tenant})
    return tenant


# --------------------------------------------------------------------------------------------------- acting by a proof


def test_a_renter_without_gas_opens_a_lease_that_another_submits(pool, hub, rich, neighbour, execute):
    tx = execute(rich, (pool, pool.open.encode_input(LeaseRequest(1))))

    assert pool.leaseOf(lease_of(tx)).dict()["tenant"] == rich
    assert pool.balanceOf(rich) == 100 * UNIT - HOUR * PER_SECOND
    assert tx.events["Executed"] == {"account": rich, "nonce": 0, "submitter": neighbour}
    assert hub.nonceOf(rich, 0) == 1
    assert hub.actor() == NOBODY


def test_several_calls_happen_whole_and_answer_each(pool, hub, rich, neighbour, approve_calls, execute):
    calls = [
        (pool, pool.open.encode_input(LeaseRequest(1))),
        (pool, pool.transfer.encode_input(neighbour, UNIT)),
    ]
    deadline = now() + DAY
    proof = approve_calls(rich, calls, 0, deadline)
    first, second = hub.execute.call(rich, calls, 0, deadline, proof, {"from": neighbour})
    assert (int(str(first), 16), len(second)) == (1 << 16, 0)
    execute(rich, *calls)
    assert pool.balanceOf(neighbour) == UNIT


def test_one_call_that_fails_undoes_them_all_and_tells_why(pool, rich, neighbour, execute):
    calls = [pool.transfer.encode_input(neighbour, UNIT), pool.transfer.encode_input(neighbour, 100 * UNIT)]
    with reverts("InsufficientBalance", rich, 99 * UNIT, 100 * UNIT):
        execute(rich, *((pool, data) for data in calls))
    assert pool.balanceOf(rich) == 100 * UNIT


def test_an_account_pays_from_its_ledger_only(pool, token, tenant, neighbour, execute):
    had = token.balanceOf(tenant), token.balanceOf(neighbour)
    with reverts("InsufficientBalance", tenant, 0, HOUR * PER_SECOND):
        execute(tenant, (pool, pool.open.encode_input(LeaseRequest(1))))
    assert (token.balanceOf(tenant), token.balanceOf(neighbour)) == had


def test_every_role_can_act_by_proof(pool, provider, operator, owner, rich, execute):
    lease = lease_of(execute(rich, (pool, pool.open.encode_input(LeaseRequest(1)))))
    execute(operator, (pool, pool.start.encode_input(lease, ENDPOINT)))
    execute(provider, (pool, pool.delist.encode_input(1)))
    tx = execute(owner, (pool, pool.transferOwnership.encode_input(rich)))
    assert tx.events["OwnershipTransferStarted"] == {"owner": owner, "pendingOwner": rich}
    execute(rich, (pool, pool.acceptOwnership.encode_input()))
    assert pool.owner() == rich


def test_a_multicall_by_proof_acts_for_the_account_throughout(pool, rich, neighbour, execute):
    calls = [pool.open.encode_input(LeaseRequest(1)), pool.transfer.encode_input(neighbour, 1)]
    lease = lease_of(execute(rich, (pool, pool.multicall.encode_input(calls))))
    assert pool.leaseOf(lease).dict()["tenant"] == rich


def test_a_smart_account_acts_by_erc_1271(pool, wallet, tenant, execute):
    tx = execute(wallet, (pool, pool.open.encode_input(LeaseRequest(1))), signer=tenant, kind=b"\x02")
    assert pool.leaseOf(lease_of(tx)).dict()["tenant"] == wallet


def test_a_smart_account_acts_directly_too(pool, wallet, tenant):
    tx = wallet.run(pool, pool.open.encode_input(LeaseRequest(1)), {"from": tenant})
    assert pool.leaseOf(lease_of(tx)).dict()["tenant"] == wallet


# --------------------------------------------------------------------------------------------------------------- nonces


def test_a_proof_works_once(pool, hub, rich, neighbour, approve_calls):
    calls = [(pool, pool.transfer.encode_input(neighbour, UNIT))]
    deadline = now() + DAY
    proof = approve_calls(rich, calls, 0, deadline)
    hub.execute(rich, calls, 0, deadline, proof, {"from": neighbour})
    with reverts("InvalidNonce", 0, 1):
        hub.execute(rich, calls, 0, deadline, proof, {"from": neighbour})
    assert pool.balanceOf(neighbour) == UNIT


def test_nonces_of_different_keys_do_not_wait_for_one_another(pool, hub, rich, neighbour, execute):
    call = (pool, pool.transfer.encode_input(neighbour, 1))
    execute(rich, call, key=7)
    execute(rich, call, key=3)
    execute(rich, call, key=7)
    assert [hub.nonceOf(rich, key) for key in (0, 3, 7)] == [0, (3 << 64) + 1, (7 << 64) + 2]


@pytest.mark.parametrize("nonce", [1, 5, (1 << 64) + 1])
def test_a_nonce_that_is_not_next_is_refused(pool, hub, rich, neighbour, approve_calls, nonce):
    calls = [(pool, pool.transfer.encode_input(neighbour, 1))]
    deadline = now() + DAY
    proof = approve_calls(rich, calls, nonce, deadline)
    with reverts("InvalidNonce", nonce, nonce >> 64 << 64):
        hub.execute(rich, calls, nonce, deadline, proof, {"from": neighbour})


def test_calls_that_failed_leave_the_nonce_unspent(pool, hub, tenant, neighbour, execute):
    with reverts("InsufficientBalance"):
        execute(tenant, (pool, pool.transfer.encode_input(neighbour, 1)))
    assert hub.nonceOf(tenant, 0) == 0


# ----------------------------------------------------------------------------------------------------- what is refused


def test_a_deadline_is_the_last_moment(pool, hub, rich, neighbour, approve_calls):
    calls = [(pool, pool.transfer.encode_input(neighbour, 1))]
    deadline = now() + 100
    proof = approve_calls(rich, calls, 0, deadline)
    at(deadline + 1)
    with reverts("ExpiredDeadline", deadline):
        hub.execute(rich, calls, 0, deadline, proof, {"from": neighbour})
    deadline = now() + 100
    proof = approve_calls(rich, calls, 0, deadline)
    at(deadline)
    hub.execute(rich, calls, 0, deadline, proof, {"from": neighbour})


def test_no_calls_are_refused(hub, rich, execute):
    with reverts("NoCalls"):
        execute(rich)


def test_only_pools_are_called(token, hub, factory, rich, neighbour, execute):
    for target, data in (
        (token, token.transfer.encode_input(neighbour, 1)),
        (hub, hub.actor.encode_input()),
        (factory, factory.poolCount.encode_input()),
        (neighbour, "0x00"),
    ):
        with reverts("InvalidTarget", target):
            execute(rich, (target, data))


@pytest.mark.parametrize(
    "other",
    [
        {"chain_id": 1},
        {"verifier": "0x" + 40 * "1"},
        {"kind": b"\x00"},
        {"kind": b"\x02"},
        {"kind": b"\x04"},
        {"kind": b""},
    ],
)
def test_a_proof_for_another_chain_contract_or_kind_is_none(pool, rich, neighbour, execute, other):
    with reverts("InvalidProof", rich):
        execute(rich, (pool, pool.transfer.encode_input(neighbour, 1)), **other)


def test_another_s_signature_is_no_proof(pool, rich, thief, execute):
    with reverts("InvalidProof", rich):
        execute(rich, (pool, pool.withdraw.encode_input(thief, UNIT)), signer=thief)


def test_a_proof_is_for_its_account_calls_nonce_and_deadline_alone(
    pool, hub, rich, neighbour, thief, approve_calls
):
    calls = [(pool, pool.transfer.encode_input(neighbour, UNIT))]
    deadline = now() + DAY
    proof = approve_calls(rich, calls, 0, deadline)
    others = [(pool, pool.transfer.encode_input(thief, UNIT))]
    for account, what, nonce, until in (
        (neighbour, calls, 0, deadline),
        (rich, others, 0, deadline),
        (rich, calls * 2, 0, deadline),
        (rich, calls, 1 << 64, deadline),
        (rich, calls, 0, deadline + 1),
    ):
        with reverts("InvalidProof", account):
            hub.execute(account, what, nonce, until, proof, {"from": thief})


@pytest.mark.parametrize("length", [0, 1, 64, 65, 67])
def test_a_proof_of_another_length_is_none(hub, rich, approve_calls, length):
    proof = (approve_calls(rich, [], 0, now()) + b"\0")[:length]
    assert hub.isAuthorized(rich, 32 * b"\7", proof) is False


# -------------------------------------------------------------------------------------------------------- isAuthorized


def test_is_authorized_knows_a_key_s_own_signature(hub, tenant, neighbour, keys):
    digest = bytes(range(32))
    signed = Account.unsafe_sign_hash(digest, keys[tenant.address])
    proof = b"\x01" + bytes(signed.signature)
    assert hub.isAuthorized(tenant, digest, proof)
    assert not hub.isAuthorized(neighbour, digest, proof)
    assert not hub.isAuthorized(tenant, digest[::-1], proof)
    assert not hub.isAuthorized(NOBODY, digest, proof)


def test_is_authorized_refuses_the_signature_s_mirror_image(hub, tenant, keys):
    digest = bytes(range(32))
    signed = Account.unsafe_sign_hash(digest, keys[tenant.address])
    mirrored = signed.r.to_bytes(32, "big") + (CURVE - signed.s).to_bytes(32, "big") + bytes([55 - signed.v])
    assert not hub.isAuthorized(tenant, digest, b"\x01" + mirrored)


def test_a_signature_that_recovers_nobody_is_not_nobody_s(hub):
    assert not hub.isAuthorized(NOBODY, 32 * b"\1", b"\x01" + 64 * b"\xff" + b"\x1b")


def test_is_authorized_asks_a_smart_account(hub, wallet, tenant, neighbour, keys):
    digest = bytes(range(32))
    signature = bytes(Account.unsafe_sign_hash(digest, keys[tenant.address]).signature)
    assert hub.isAuthorized(wallet, digest, b"\x02" + signature)
    assert not hub.isAuthorized(wallet, digest, b"\x01" + signature)
    assert not hub.isAuthorized(wallet, digest[::-1], b"\x02" + signature)
    assert not hub.isAuthorized(neighbour, digest, b"\x02" + signature)


@pytest.mark.parametrize("mood", [1, 2])
def test_is_authorized_never_reverts_whatever_a_smart_account_does(hub, wallet, tenant, mood):
    wallet.setMood(mood, {"from": tenant})
    assert hub.isAuthorized(wallet, 32 * b"\1", b"\x02" + 65 * b"\1") is False


# --------------------------------------------------------------------------------------------------------------- reads


def test_the_digest_is_what_wallets_sign(pool, hub, tenant, neighbour, keys, approve_calls):
    calls = [(pool, pool.transfer.encode_input(neighbour, 1))]
    digest = hub.executeDigest(tenant, calls, 0, 99)
    assert hub.isAuthorized(tenant, digest, approve_calls(tenant, calls, 0, 99))


def test_the_domain_is_told(hub):
    _, name, version, chain_id, contract, _, extensions = hub.eip712Domain()
    assert (name, version, chain_id, contract) == ("Leasehold", "1", chain.id, hub)
    assert plain(extensions) == ()


def test_nobody_acts_when_nobody_executes(hub):
    assert hub.actor() == NOBODY
    later(1)


# -------------------------------------------------------------------------------------------------------------- groups

SALT = 32 * b"\5"


class Signers:
    """Two of three keys, and their proofs piece by piece."""

    def __init__(self, hub):
        keys = sorted(
            (keccak(text=f"signer {i}") for i in range(3)),
            key=lambda key: int(Account.from_key(key).address, 16),
        )
        self.accounts = [Account.from_key(key) for key in keys]
        self.addresses = [account.address for account in self.accounts]
        self.address = hub.groupAddress(2, self.addresses, SALT)

    def head(self, threshold=2, addresses=None, salt=SALT):
        addresses = self.addresses if addresses is None else addresses
        return (
            bytes((3, threshold, len(addresses))) + b"".join(bytes.fromhex(a[2:]) for a in addresses) + salt
        )

    def part(self, index, digest, high=False):
        signed = self.accounts[index].unsafe_sign_hash(digest)
        s, v = (CURVE - signed.s, 55 - signed.v) if high else (signed.s, signed.v)
        return bytes((index, 1)) + signed.r.to_bytes(32, "big") + s.to_bytes(32, "big") + bytes((v,))

    def proof(self, digest, *order):
        return self.head() + b"".join(self.part(index, digest) for index in order or (0, 2))


@pytest.fixture
def signers(hub, pool, tenant):
    signers = Signers(hub)
    pool.deposit(signers.address, 100 * UNIT, {"from": tenant})
    return signers


@pytest.fixture
def as_group(hub, signers, neighbour):
    """Acts as the group, by `proof` over the digest or by a good one, sent by a stranger."""

    def act(*calls, proof=None):
        nonce, deadline = hub.nonceOf(signers.address, 0), now() + DAY
        digest = bytes(hub.executeDigest(signers.address, calls, nonce, deadline))
        made = signers.proof(digest) if proof is None else proof(digest)
        return hub.execute(signers.address, calls, nonce, deadline, made, {"from": neighbour})

    return act


def test_a_group_rents_extends_and_closes_without_a_contract(pool, operator, signers, as_group, web3):
    lease = lease_of(as_group((pool, pool.open.encode_input(LeaseRequest(1)))))
    pool.start(lease, ENDPOINT, {"from": operator})
    as_group((pool, pool.extend.encode_input(lease, HOUR)))
    as_group((pool, pool.close.encode_input(lease)))
    assert pool.leaseOf(lease).dict()["tenant"] == signers.address
    assert web3.eth.get_code(signers.address) == b""


def test_a_group_s_proof_is_refused_with_its_own_error(pool, hub, signers, as_group, neighbour):
    call = (pool, pool.transfer.encode_input(neighbour, 1))
    first, last = signers.addresses[0], signers.addresses[2]
    twice = [first, first, last]
    other = hub.groupAddress(2, signers.addresses, 32 * b"\6")
    for error, values, proof in (
        ("UnorderedSignatures", (0,), lambda d: signers.proof(d, 2, 0)),
        ("DuplicateSignature", (0,), lambda d: signers.proof(d, 0, 0)),
        (
            "MalleableSignature",
            (last,),
            lambda d: signers.head() + signers.part(0, d) + signers.part(2, d, high=True),
        ),
        ("WrongSignature", (first,), lambda d: signers.proof(d[::-1])),
        ("MalformedProof", (), lambda d: signers.proof(d, 0)),
        ("MalformedProof", (), lambda d: signers.proof(d) + b"\0"),
        ("InvalidThreshold", (0, 3), lambda d: signers.head(threshold=0)),
        ("InvalidSigners", (1,), lambda d: signers.head(addresses=twice)),
        ("WrongGroup", (signers.address, other), lambda d: signers.head(salt=32 * b"\6")),
    ):
        with reverts(error, *values):
            as_group(call, proof=proof)
    assert pool.balanceOf(signers.address) == 100 * UNIT


def test_what_was_sent_to_a_group_is_rescued_by_nobody_else(hub, token, signers, as_group, thief, neighbour):
    token.mint(signers.address, 5, {"from": neighbour})
    rescue = (hub, hub.rescue.encode_input(token, signers.addresses[0], 5))
    with reverts("NotDeployed", signers.address):
        as_group(rescue)
    with reverts("NotAuthorized", thief):
        hub.rescue(token, thief, 5, {"from": thief})
    tx = as_group((hub, hub.deployGroup.encode_input(2, signers.addresses, SALT)), rescue)
    assert tx.events["GroupDeployed"]["account"] == signers.address
    assert token.balanceOf(signers.addresses[0]) == 5


# ----------------------------------------------------------------------------------------------------------- delegates


def test_a_delegate_keeps_to_scope_cap_and_time(pool, hub, rich, neighbour, thief):
    until = now() + 10 * DAY
    cost = HOUR * PER_SECOND
    hub.setDelegate(pool, neighbour, 2 * cost - 1, 7 * DAY, until, {"from": rich})
    opening = pool.open.encode_input(LeaseRequest(1))
    tx = hub.executeAsDelegate(rich, pool, opening, {"from": neighbour})
    assert pool.leaseOf(lease_of(tx)).dict()["tenant"] == rich
    assert tx.events["DelegateSpent"]["amount"] == cost
    with reverts("CapExceeded", 2 * cost, 2 * cost - 1):
        hub.executeAsDelegate(rich, pool, opening, {"from": neighbour})
    with reverts("NotAuthorized", thief):
        hub.executeAsDelegate(rich, pool, opening, {"from": thief})
    withdrawal = pool.withdraw.encode_input(neighbour, 1)
    with reverts("ScopeExceeded", withdrawal[:10]):
        hub.executeAsDelegate(rich, pool, withdrawal, {"from": neighbour})
    at(until + 1)
    with reverts("DelegationExpired", until):
        hub.executeAsDelegate(rich, pool, opening, {"from": neighbour})


def test_a_delegate_ends_when_the_account_says_so(pool, hub, rich, neighbour):
    hub.setDelegate(pool, neighbour, UNIT, 0, now() + DAY, {"from": rich})
    hub.setDelegate(pool, neighbour, 0, 0, 0, {"from": rich})
    assert plain(hub.delegationOf(rich, pool, neighbour)) == (0, 0, 0, 0, 0)
    with reverts("NotAuthorized", neighbour):
        hub.executeAsDelegate(rich, pool, pool.open.encode_input(LeaseRequest(1)), {"from": neighbour})
