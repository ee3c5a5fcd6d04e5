"""The chain: bindings to the contracts, wallets, sending, events, and the index made of them.

async with Rpc(["http://127.0.0.1:8545"]) as rpc:
    deployment = Deployment.load("deployments/31337.json")
    await rpc.check_chain(deployment)
    signer = await Keystore("~/keys").unlock("renter", password)
    pool = Pool(rpc, deployment, Sender(rpc, signer))
    lease, receipt = await pool.open(LeaseRequest(machine=1, …))
"""

from typing import TYPE_CHECKING

from leasehold._faces import face

if TYPE_CHECKING:
    from leasehold.chain._accounts import (
        AccountsContract,
    )
    from leasehold.chain._branches import (
        decided_at,
    )
    from leasehold.chain._calls import (
        CallUnreadable,
        DecodedCall,
        decode_call,
        decode_calls,
    )
    from leasehold.chain._changes import (
        IndexChanges,
    )
    from leasehold.chain._closing_order import (
        CLOSING_SECONDS,
        ClosingOrder,
        closing_key,
    )
    from leasehold.chain._companions import (
        Committee,
        Directory,
        Faults,
        Reputation,
    )
    from leasehold.chain._decode import (
        decode_log,
    )
    from leasehold.chain._deployment import (
        Deployment,
        DeploymentMissing,
    )
    from leasehold.chain._eip712 import (
        Call,
    )
    from leasehold.chain._gasless_calls import (
        GASLESS_KEY,
        GASLESS_SECONDS,
        GaslessCalls,
    )
    from leasehold.chain._generated import (
        events as _events,
    )
    from leasehold.chain._generated.events import *  # noqa: F403
    from leasehold.chain._glance import (
        head_at_a_glance,
    )
    from leasehold.chain._ids import (
        InvalidCid,
        cid_from_bytes,
        cid_of_digest,
        cid_to_bytes,
        digest_of_cid,
    )
    from leasehold.chain._index_changes import (
        IndexChange,
    )
    from leasehold.chain._index_errors import (
        IndexBroken,
        IndexConflict,
        IndexTorn,
        IndexUnavailable,
    )
    from leasehold.chain._index_reader import (
        MachinesAtBlock,
        read_machines,
    )
    from leasehold.chain._indexer import (
        Indexer,
    )
    from leasehold.chain._keystore import (
        DeviceAccount,
        KeyInfo,
        Keystore,
    )
    from leasehold.chain._lease_id import (
        InvalidLeaseId,
        format_lease,
        parse_lease,
    )
    from leasehold.chain._lease_purse import (
        PURSE_EXTENSIONS,
        PURSE_RETURNS,
        LeasePurse,
        SignedPurse,
    )
    from leasehold.chain._lens import (
        Lens,
        ListedMachine,
        PoolView,
        ProviderView,
    )
    from leasehold.chain._log import (
        Event,
        LogMeta,
    )
    from leasehold.chain._ordered import (
        Applied,
        Block,
        RolledBack,
    )
    from leasehold.chain._past import (
        logs_since,
    )
    from leasehold.chain._permit import sign_permit
    from leasehold.chain._pool import (
        FactoryContract,
        Pool,
        ProposedParams,
    )
    from leasehold.chain._provider import (
        FallbackProvider,
    )
    from leasehold.chain._queries import (
        Changed,
    )
    from leasehold.chain._records import (
        ChallengeRecord,
        DelegateRecord,
        FaultRecord,
        GroupRecord,
        Income,
        LeaseEvent,
        LeaseRecord,
        LeaseTotals,
        Ledger,
        LedgerEntry,
        LicenceRecord,
        LossRecord,
        MachineRecord,
        OfferRecord,
        ParamsRecord,
        PoolRecord,
        PriceChange,
        RatingRecord,
        RoundRecord,
        SeatRecord,
        ServiceRecord,
        VoteRecord,
    )
    from leasehold.chain._rpc import (
        BlockHeader,
        Rpc,
    )
    from leasehold.chain._sender import (
        Sender,
        Sends,
    )
    from leasehold.chain._signer import (
        LocalSigner,
        Signer,
        TypedData,
        asks_each_time,
        signer_of,
    )
    from leasehold.chain._token import (
        UNLIMITED,
        Token,
    )
    from leasehold.chain._turn import (
        TurnTaken,
        free_nonce,
        turn,
    )
    from leasehold.chain._types import (
        CELLS_PER_GPU,
        ZERO_ADDRESS,
        ZERO_DIGEST,
        Challenge,
        Companions,
        Consent,
        Delegation,
        Fault,
        FaultKind,
        FaultState,
        Lease,
        LeaseRequest,
        LeaseState,
        Licence,
        Machine,
        MachineStatus,
        Params,
        ProviderAccount,
        Receipt,
        Round,
        RoundState,
        Seat,
        SeatSigner,
        SlashWindow,
        Terms,
        backup_digest,
        commitment,
        cost,
    )
    from leasehold.chain._versions import SCHEMA
    from leasehold.chain._watcher import (
        EventWatcher,
        Item,
    )
    from leasehold.chain._web3_contract import (
        web3_contract,
    )
    from leasehold.chain._web3_sending import (
        send_by,
    )
    from leasehold.chain._web3_signer import (
        Web3Signer,
    )

__all__ = [
    "CELLS_PER_GPU",
    "CLOSING_SECONDS",
    "GASLESS_KEY",
    "GASLESS_SECONDS",
    "PURSE_EXTENSIONS",
    "PURSE_RETURNS",
    "SCHEMA",
    "UNLIMITED",
    "ZERO_ADDRESS",
    "ZERO_DIGEST",
    "AccountsContract",
    "Applied",
    "Block",
    "BlockHeader",
    "Call",
    "CallUnreadable",
    "Challenge",
    "ChallengeRecord",
    "Changed",
    "ClosingOrder",
    "Committee",
    "Companions",
    "Consent",
    "DecodedCall",
    "DelegateRecord",
    "Delegation",
    "Deployment",
    "DeploymentMissing",
    "DeviceAccount",
    "Directory",
    "Event",
    "EventWatcher",
    "FactoryContract",
    "FallbackProvider",
    "Fault",
    "FaultKind",
    "FaultRecord",
    "FaultState",
    "Faults",
    "GaslessCalls",
    "GroupRecord",
    "Income",
    "IndexBroken",
    "IndexChange",
    "IndexChanges",
    "IndexConflict",
    "IndexTorn",
    "IndexUnavailable",
    "Indexer",
    "InvalidCid",
    "InvalidLeaseId",
    "Item",
    "KeyInfo",
    "Keystore",
    "Lease",
    "LeaseEvent",
    "LeasePurse",
    "LeaseRecord",
    "LeaseRequest",
    "LeaseState",
    "LeaseTotals",
    "Ledger",
    "LedgerEntry",
    "Lens",
    "Licence",
    "LicenceRecord",
    "ListedMachine",
    "LocalSigner",
    "LogMeta",
    "LossRecord",
    "Machine",
    "MachineRecord",
    "MachineStatus",
    "MachinesAtBlock",
    "OfferRecord",
    "Params",
    "ParamsRecord",
    "Pool",
    "PoolRecord",
    "PoolView",
    "PriceChange",
    "ProposedParams",
    "ProviderAccount",
    "ProviderView",
    "RatingRecord",
    "Receipt",
    "Reputation",
    "RolledBack",
    "Round",
    "RoundRecord",
    "RoundState",
    "Rpc",
    "Seat",
    "SeatRecord",
    "SeatSigner",
    "Sender",
    "Sends",
    "ServiceRecord",
    "SignedPurse",
    "Signer",
    "SlashWindow",
    "Terms",
    "Token",
    "TurnTaken",
    "TypedData",
    "VoteRecord",
    "Web3Signer",
    "asks_each_time",
    "backup_digest",
    "cid_from_bytes",
    "cid_of_digest",
    "cid_to_bytes",
    "closing_key",
    "commitment",
    "cost",
    "decided_at",
    "decode_call",
    "decode_calls",
    "decode_log",
    "digest_of_cid",
    "format_lease",
    "free_nonce",
    "head_at_a_glance",
    "logs_since",
    "parse_lease",
    "read_machines",
    "send_by",
    "sign_permit",
    "signer_of",
    "turn",
    "web3_contract",
]

_PARTS = {
    "_accounts": ("AccountsContract",),
    "_branches": ("decided_at",),
    "_calls": ("CallUnreadable", "DecodedCall", "decode_call", "decode_calls"),
    "_changes": ("IndexChanges",),
    "_closing_order": ("CLOSING_SECONDS", "ClosingOrder", "closing_key"),
    "_companions": ("Committee", "Directory", "Faults", "Reputation"),
    "_decode": ("decode_log",),
    "_deployment": ("Deployment", "DeploymentMissing"),
    "_eip712": ("Call",),
    "_gasless_calls": ("GASLESS_KEY", "GASLESS_SECONDS", "GaslessCalls"),
    "_glance": ("head_at_a_glance",),
    "_ids": ("InvalidCid", "cid_from_bytes", "cid_of_digest", "cid_to_bytes", "digest_of_cid"),
    "_index_changes": ("IndexChange",),
    "_index_errors": ("IndexBroken", "IndexConflict", "IndexTorn", "IndexUnavailable"),
    "_index_reader": ("MachinesAtBlock", "read_machines"),
    "_indexer": ("Indexer",),
    "_keystore": ("DeviceAccount", "KeyInfo", "Keystore"),
    "_lease_id": ("InvalidLeaseId", "format_lease", "parse_lease"),
    "_lease_purse": ("PURSE_EXTENSIONS", "PURSE_RETURNS", "LeasePurse", "SignedPurse"),
    "_lens": ("Lens", "ListedMachine", "PoolView", "ProviderView"),
    "_log": ("Event", "LogMeta"),
    "_ordered": ("Applied", "Block", "RolledBack"),
    "_past": ("logs_since",),
    "_permit": ("sign_permit",),
    "_pool": ("FactoryContract", "Pool", "ProposedParams"),
    "_provider": ("FallbackProvider",),
    "_queries": ("Changed",),
    "_records": (
        "ChallengeRecord", "DelegateRecord", "FaultRecord", "GroupRecord", "Income", "LeaseEvent",
        "LeaseRecord", "LeaseTotals", "Ledger", "LedgerEntry", "LicenceRecord", "LossRecord", "MachineRecord",
        "OfferRecord", "ParamsRecord", "PoolRecord", "PriceChange", "RatingRecord", "RoundRecord",
        "SeatRecord", "ServiceRecord", "VoteRecord",
    ),
    "_rpc": ("BlockHeader", "Rpc"),
    "_sender": ("Sender", "Sends"),
    "_signer": ("LocalSigner", "Signer", "TypedData", "asks_each_time", "signer_of"),
    "_token": ("UNLIMITED", "Token"),
    "_turn": ("TurnTaken", "free_nonce", "turn"),
    "_types": (
        "CELLS_PER_GPU", "ZERO_ADDRESS", "ZERO_DIGEST", "Challenge", "Companions", "Consent", "Delegation",
        "Fault", "FaultKind", "FaultState", "Lease", "LeaseRequest", "LeaseState", "Licence", "Machine",
        "MachineStatus", "Params", "ProviderAccount", "Receipt", "Round", "RoundState", "Seat", "SeatSigner",
        "SlashWindow", "Terms", "backup_digest", "commitment", "cost",
    ),
    "_versions": ("SCHEMA",),
    "_watcher": ("EventWatcher", "Item"),
    "_web3_contract": ("web3_contract",),
    "_web3_sending": ("send_by",),
    "_web3_signer": ("Web3Signer",),
}  # fmt: skip
if TYPE_CHECKING:
    __all__ += _events.__all__
else:
    __getattr__ = face(__name__, _PARTS, rest="_generated.events")
