"""A tenant's folder as the program of this host takes it that writes it into a container: its list, and where in which
pack each piece lies.
"""

from __future__ import annotations

from collections.abc import Mapping

from leasehold.workload import CodeEntry, CodeKind
from leasehold_agent._errors import CodeNotWritten
from leasehold_agent.engine._code_tar import CodePart
from leasehold_agent.host import packed_entry, packed_part

PackPlaces = Mapping[bytes, tuple[str, int, int]]
"""Of each piece, by its digest: the name of a pack, and where in it the piece begins and how long it is."""


def code_records(part: CodePart, places: PackPlaces) -> bytes:
    """For `CodeWriter.write`. Raises CodeNotWritten where a piece lies nowhere."""
    packs = dict[str, int]()
    entries = [_record(entry, places, packs) for entry in part.entries]
    folders = (entry for entry in part.tree.entries if part.last and entry.kind is CodeKind.FOLDER)
    return packed_part(
        list(packs), entries, [(folder.path, folder.time) for folder in folders], last=part.last
    )


def _record(entry: CodeEntry, places: PackPlaces, packs: dict[str, int]) -> bytes:
    pieces = list[tuple[bytes, int, int, int]]()
    for chunk, size in entry.pieces():
        pack, offset, held = places.get(chunk, ("", 0, -1))
        if held != size:
            raise CodeNotWritten("a piece of it is not here")
        pieces.append((chunk, packs.setdefault(pack, len(packs)), offset, size))
    return packed_entry(entry.kind, entry.mode, entry.time, entry.path, entry.target, pieces)
