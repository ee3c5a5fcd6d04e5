"""What a lease has got to, kept where its machine's end does not reach it.

    from leasehold.checkpoints import TakeCheckpoint, newest_checkpoint

    taken = await pool.carry_out(TakeCheckpoint(lease.id))
    # and on another machine: workload.restored_from(taken.cid)
    # or at home: await pool.carry_out(GetCheckpoint(Path("state"), lease.id))

A workload says how often one is taken, and of what (`docs/reference/workload.md`).
"""

from leasehold.client import (
    CheckpointGot,
    CheckpointTaken,
    GetCheckpoint,
    TakeCheckpoint,
    checkpoints_of,
    keep_checkpoint,
    newest_checkpoint,
)

__all__ = [
    "CheckpointGot",
    "CheckpointTaken",
    "GetCheckpoint",
    "TakeCheckpoint",
    "checkpoints_of",
    "keep_checkpoint",
    "newest_checkpoint",
]
