"""The Docker engine. `Engine` is its door: nothing else of the agent speaks to it.

Behind the door are two ways to it. What the engine answers at once goes through the `docker` package, whose calls
block, in a thread each (`_engine`). What lasts as long as somebody looks (a command's input and output, a log, an
image as it comes) goes over connections of the agent's own (`Engine.streams`, `Engine.pull`): in threads, tenants could
take every one there is, and what has to be cut off in the middle would wait for its next bytes.

Each file stands on none but those before it:

    _errands        threads for calls that last
    _seccomp        the system calls of a container
    _facts          what this engine can do
    _networks       the networks of leases
    _kept           what a container has written, after its end
    _containers     containers in the engine's words
    _sightings      which of them need not be asked about again
    _tars           what goes into a container and comes out of one
    _code_tar       a tenant's folder, as the engine unpacks it
    _code_records   the same, as this host writes it itself
    _layer_place    where the engine keeps a container's files
    _ping           whether it is there at all, for the sentinel
    _pipe_end       a command's pipe, one end of which is the agent's
    _pipe_input     what a command reads, when it is much
    _pipe_output    what it writes, when that is much
    _streams        commands inside a container, and its log
    _pull           an image from a registry, watched as it comes
    _oci_layout     which blobs of such an archive make an image
    _image_archive  what a stranger's archive comes to, before the engine gets it
    _local_image    an image that it has, and the same without its volumes
    _layer_archive  a container's files as an image of one layer, as they come
    _exits          how a command ended, in a sentence
    _engine         the door, and the calls that are answered at once
    _registries     where images may come from
    _registry_http  short questions to them
    _registry_access  who may have what
    _sealed_archive  an archive that came sealed, opened
    _image_rules    what the host's owner lets run
    _image_notes    what is remembered of those that came
    _images         what a workload names, made an image that the engine has
"""

from leasehold_agent.engine._code_records import code_records
from leasehold_agent.engine._code_tar import CodePart, code_tar, folder_mode, owner_of
from leasehold_agent.engine._containers import (
    DEVICES_LABEL,
    SHARING_LABEL,
    ContainerFacts,
    ContainerSpec,
    Limits,
)
from leasehold_agent.engine._engine import Engine
from leasehold_agent.engine._exits import ended_again, ended_for_good, how_it_ended
from leasehold_agent.engine._facts import EngineFacts
from leasehold_agent.engine._image_notes import ImageNote
from leasehold_agent.engine._image_rules import ImageRules
from leasehold_agent.engine._images import Claimant, Images
from leasehold_agent.engine._kept import ReaderSpec
from leasehold_agent.engine._layer_archive import LayerArchive
from leasehold_agent.engine._ping import engine_answers

__all__ = [
    "DEVICES_LABEL",
    "SHARING_LABEL",
    "Claimant",
    "CodePart",
    "ContainerFacts",
    "ContainerSpec",
    "Engine",
    "EngineFacts",
    "ImageNote",
    "ImageRules",
    "Images",
    "LayerArchive",
    "Limits",
    "ReaderSpec",
    "code_records",
    "code_tar",
    "ended_again",
    "ended_for_good",
    "engine_answers",
    "folder_mode",
    "how_it_ended",
    "owner_of",
]
