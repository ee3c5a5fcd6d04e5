"""A lease's container as an image, with which another lease begins.

    from leasehold.commits import CommitContainer

    committed = await pool.carry_out(CommitContainer(lease.id))
    # and on another machine: pool.workload({"version": 1, "image": committed.image, ...})

The image is sealed to a key of its own that this home keeps and hands to the machines that it is rented on.
"""

from leasehold.client import CommitContainer, ContainerCommitted, image_of

__all__ = ["CommitContainer", "ContainerCommitted", "image_of"]
