"""The Docker engine. `Engine` is its door: nothing else of the agent speaks to it.

Behind the door are two ways to it. What the engine answers at once goes through the `docker` package, whose calls
block, in a thread each (`_engine`). What lasts as long as somebody looks (a command's input and output, a log, an
image as it comes) goes over connections of the agent's own (`Engine.streams`, `Engine.pull`): in threads, tenants could
take every one there is, and what has to be cut off in the middle would wait for its next bytes.

Each file stands on none but those before it:

    _errands        threads for calls that last
    _seccomp        the system calls of a container whose layers lie on btrfs
    _facts          what this engine can do
    _networks       the networks of leases
    _containers     containers in the engine's words
    _tars           what goes into a container and comes out of one
    _ping           whether it is there at all, for the sentinel
    _streams        commands inside a container, and its log
    _pull           an image from a registry, watched as it comes
    _image_archive  what a stranger's archive comes to, before the engine gets it
    _exits          how a command ended, in a sentence
    _engine         the door, and the calls that are answered at once
    _registries     where images may come from
    _images         what a workload names, made an image that the engine has
"""

from leasehold_agent.engine._containers import DEVICES_LABEL, ContainerFacts, ContainerSpec, Limits
from leasehold_agent.engine._engine import Engine
from leasehold_agent.engine._exits import ended_again, how_it_ended
from leasehold_agent.engine._facts import EngineFacts
from leasehold_agent.engine._images import Images
from leasehold_agent.engine._ping import engine_answers

__all__ = [
    "DEVICES_LABEL",
    "ContainerFacts",
    "ContainerSpec",
    "Engine",
    "EngineFacts",
    "Images",
    "Limits",
    "ended_again",
    "engine_answers",
    "how_it_ended",
]
