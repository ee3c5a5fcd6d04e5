"""The Docker engine. `Engine` is its door: nothing else of the agent speaks to it.

Behind the door are two ways to it. What the engine answers at once goes through the `docker` package, whose calls
block, in a thread each (`_engine`). What lasts as long as somebody looks (a command's input and output, a log, an
image as it comes) goes over connections of the agent's own (`_streams`, `_pull`): a thread for each of them would be
tenants' to exhaust, and the package neither gives a stream back nor says how far an image has come.

Each file stands on none but those before it:

    _errands        threads for calls that last
    _seccomp        the system calls of a container whose layers lie on btrfs
    _facts          what this engine can do
    _networks       the networks of leases
    _streams        commands inside a container, and its log
    _pull           an image from a registry, watched as it comes
    _image_archive  what a stranger's archive comes to, before the engine gets it
    _engine         the door, and the calls that are answered at once
    _exits          how a command ended, in a sentence
    _registries     where images may come from
    _images         what a workload names, made an image that the engine has
"""

from leasehold_agent.engine._engine import ContainerFacts, ContainerSpec, Engine, Limits
from leasehold_agent.engine._exits import ended_again, how_it_ended
from leasehold_agent.engine._facts import EngineFacts
from leasehold_agent.engine._images import Images
from leasehold_agent.engine._streams import EngineStreams

__all__ = [
    "ContainerFacts",
    "ContainerSpec",
    "Engine",
    "EngineFacts",
    "EngineStreams",
    "Images",
    "Limits",
    "ended_again",
    "how_it_ended",
]
