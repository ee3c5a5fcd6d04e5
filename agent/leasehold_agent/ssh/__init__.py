"""SSH and SFTP into a lease's container, whatever its image.

Each file stands on none but those before it:

    _certificates  keys that are let in for some minutes
    _guard         a connection whose client cannot make the agent hold too much
    _sftp_shell    a container's files, asked of a shell inside it
    _sftp          SFTP and SCP made of that
    _shells        with which shell a session begins
    _server        the port, its keys, sessions and forwards
"""

from leasehold_agent.ssh._certificates import Certificates, is_over
from leasehold_agent.ssh._server import SshServer

__all__ = [
    "Certificates",
    "SshServer",
    "is_over",
]
