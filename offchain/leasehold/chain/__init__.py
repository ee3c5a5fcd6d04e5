"""The chain: bindings to the contracts, wallets, sending, events, and the index made of them.

async with Rpc(["http://127.0.0.1:8545"]) as rpc:
    deployment = Deployment.load("deployments/31337.json")
    await rpc.check_chain(deployment)
    signer = await Keystore("~/keys").unlock("renter", password)
    pool = Pool(rpc, deployment, Sender(rpc, signer))
    lease, receipt = await pool.open(LeaseRequest(machine=1, …))
"""

from leasehold.chain import _events
from leasehold.chain._decode import decode_log
from leasehold.chain._deployment import Deployment
from leasehold.chain._events import *  # noqa: F403
from leasehold.chain._ids import InvalidCid, cid_from_bytes, cid_of_digest, cid_to_bytes, digest_of_cid
from leasehold.chain._indexer import IndexBroken, IndexConflict, Indexer
from leasehold.chain._keystore import KeyInfo, Keystore
from leasehold.chain._lease_id import InvalidLeaseId, format_lease, parse_lease
from leasehold.chain._log import Event, LogMeta
from leasehold.chain._pool import AccountsContract, FactoryContract, Pool, ProposedParams
from leasehold.chain._records import LeaseRecord, Ledger, LedgerEntry, MachineRecord, ParamsRecord, PoolRecord
from leasehold.chain._rpc import BlockHeader, Rpc
from leasehold.chain._sender import Sender
from leasehold.chain._signer import LocalSigner, Signer, TypedData
from leasehold.chain._token import UNLIMITED, Token
from leasehold.chain._types import (
    CELLS_PER_GPU,
    ZERO_ADDRESS,
    ZERO_DIGEST,
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
    cost,
)
from leasehold.chain._watcher import Applied, Block, EventWatcher, Item, RolledBack

__all__ = [
    "CELLS_PER_GPU",
    "UNLIMITED",
    "ZERO_ADDRESS",
    "ZERO_DIGEST",
    "AccountsContract",
    "Applied",
    "Block",
    "BlockHeader",
    "Call",
    "Deployment",
    "Event",
    "EventWatcher",
    "FactoryContract",
    "IndexBroken",
    "IndexConflict",
    "Indexer",
    "InvalidCid",
    "InvalidLeaseId",
    "Item",
    "KeyInfo",
    "Keystore",
    "Lease",
    "LeaseRecord",
    "LeaseRequest",
    "LeaseState",
    "Ledger",
    "LedgerEntry",
    "LocalSigner",
    "LogMeta",
    "Machine",
    "MachineRecord",
    "MachineStatus",
    "Params",
    "ParamsRecord",
    "Pool",
    "PoolRecord",
    "ProposedParams",
    "ProviderAccount",
    "Receipt",
    "RolledBack",
    "Rpc",
    "Sender",
    "Signer",
    "Terms",
    "Token",
    "TypedData",
    "cid_from_bytes",
    "cid_of_digest",
    "cid_to_bytes",
    "cost",
    "decode_log",
    "digest_of_cid",
    "format_lease",
    "parse_lease",
]
__all__ += _events.__all__
