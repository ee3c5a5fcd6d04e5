"""What others may see of a lease, and who did what on it.

    from leasehold.sharing import LOG_OPS, RevokeAccess, ShareLease, audit_of

    shared = await pool.carry_out(ShareLease(lease.id, key, LOG_OPS, seconds=7200))
    print(await audit_of(pool, lease.id))

`leasehold.client` says in which order it is done; `docs/decisions/0275-a-lease-is-shown-to-others.md` why so.
"""

from leasehold.agreements import AccessFile
from leasehold.client import (
    AcceptAccess,
    AccessKept,
    AccessRevoked,
    LeaseShared,
    RevokeAccess,
    ShareLease,
    audit_of,
    make_access_key,
)
from leasehold.market.wire import LOG_OPS, READ_OPS, AuditedAct, LeaseAudit, RefusedTries

__all__ = [
    "LOG_OPS",
    "READ_OPS",
    "AcceptAccess",
    "AccessFile",
    "AccessKept",
    "AccessRevoked",
    "AuditedAct",
    "LeaseAudit",
    "LeaseShared",
    "RefusedTries",
    "RevokeAccess",
    "ShareLease",
    "audit_of",
    "make_access_key",
]
