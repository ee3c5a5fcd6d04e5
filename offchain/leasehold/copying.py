"""What goes into a lease and comes out of it: code, files, data.

    from leasehold.copying import CodeFolder

    rented = await pool.carry_out(
        Rent(workload, seconds=3600, code=CodeFolder(Path("train")))
    )

The folder lies at `/work` before the command starts, which runs there unless the workload names another `workdir`.
"""

from leasehold.client import CodeHandedIn, hand_in, look_over
from leasehold.workload import Code, CodeContents, CodeFolder, CodeTree

__all__ = [
    "Code",
    "CodeContents",
    "CodeFolder",
    "CodeHandedIn",
    "CodeTree",
    "hand_in",
    "look_over",
]
