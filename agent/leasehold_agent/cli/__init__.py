"""`leasehold-agent`: one verb a file.

Each file stands on none but those before it:

    _console   how sentences and JSON are printed
    _pool      the pool as its operator, for what runs beside the agent
    _check     whether this host can serve
    _peer      what other hosts measure against
    _describe  what this host is, and whom it serves
    _run       the agent itself
    _status    what the agent that runs sees
    _settings  what is set, and where that came from
    _drain     no new leases
    _pause     nothing new is sold, and what ending the rest would cost
    _report    word that the host goes down, and that it is back
    _app       the command, and how what went wrong is said
"""

from leasehold_agent.cli._app import main

__all__ = [
    "main",
]
