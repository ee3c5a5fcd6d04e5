"""What goes into a lease and comes out of it: code, files, data.

    from leasehold.copying import CodeFolder

    rented = await pool.carry_out(
        Rent(workload, seconds=3600, code=CodeFolder(Path("train")))
    )

The folder lies at `/work` before the command starts, which runs there unless the workload names another `workdir`.
"""

from leasehold.client import (
    CodeHandedIn,
    Copied,
    CopyFailed,
    ForwardedPort,
    LeaseShell,
    SshFiles,
    SshHost,
    Synced,
    SyncOptions,
    bring_to,
    copy_in,
    copy_out,
    exclude,
    fetch_from,
    forwarded_port,
    hand_in,
    include,
    is_address,
    lease_shell,
    let_in,
    local_folder,
    look_over,
    ssh_config,
    ssh_hosts,
    sync_in,
    sync_out,
)
from leasehold.workload import Code, CodeContents, CodeFolder, CodeTree

__all__ = [
    "Code",
    "CodeContents",
    "CodeFolder",
    "CodeHandedIn",
    "CodeTree",
    "Copied",
    "CopyFailed",
    "ForwardedPort",
    "LeaseShell",
    "SshFiles",
    "SshHost",
    "SyncOptions",
    "Synced",
    "bring_to",
    "copy_in",
    "copy_out",
    "exclude",
    "fetch_from",
    "forwarded_port",
    "hand_in",
    "include",
    "is_address",
    "lease_shell",
    "let_in",
    "local_folder",
    "look_over",
    "ssh_config",
    "ssh_hosts",
    "sync_in",
    "sync_out",
]
