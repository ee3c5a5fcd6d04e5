"""What a lease leaves behind: outputs packed by the agent, fetched by the tenant. Neither trusts the other.

One CID names a folder: `manifest.json` and, for each output, either `<n>.age` (a tar archive sealed to its
recipients) or the plain folder `<n>`. The agent reads what a hostile tenant left, so it follows no link; the tenant
unpacks what a hostile host sent, so nothing may leave the destination, and nothing there is overwritten.
"""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Annotated, Final, Literal, Self

import orjson
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from leasehold.datasets import (
    Entry,
    FilePart,
    FolderPart,
    Ipfs,
    Part,
    Progress,
    Walk,
    encrypted,
    opened_below,
    public_parts,
    tar_stream,
)
from leasehold.errors import DestinationExists, ResultsInvalid
from leasehold.workload._model import ContainerPath, WorkloadOutput, check_apart
from leasehold.workload._results_chosen import (
    NoSuchResult,
    ResultsUnasked,
    beside,
    keep_wanted,
    lay_over,
    may_hold,
    unasked,
)

_MANIFEST: Final = "manifest.json"
_MAX_MANIFEST: Final = 1024 * 1024
_ROOT: Final = "results"


class ManifestEntry(BaseModel):
    """One output. `size`: bytes of its files. `missing`: the container never made it. `skipped`: how many of its
    entries could not travel (links that lead out, devices, names that are not UTF-8)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: ContainerPath
    name: Annotated[str, StringConstraints(pattern=r"^[0-9]{1,4}(\.age)?$")] | None
    public: bool
    size: Annotated[int, Field(ge=0)]
    missing: bool = False
    skipped: Annotated[int, Field(ge=0)] = 0


class Manifest(BaseModel):
    """What a results CID holds, and of which lease."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: Literal[1]
    lease: Annotated[str, StringConstraints(max_length=256)]
    outputs: Annotated[tuple[ManifestEntry, ...], Field(max_length=64)]

    @model_validator(mode="after")
    def _apart(self) -> Self:
        check_apart("outputs", [output.path for output in self.outputs])
        return self


@dataclass(frozen=True, slots=True)
class ResultFolder:
    """What was fetched, and into which folder. manifest: of the outputs in which something wanted may be. unread: what
    the CID holds besides, as named there: nobody knows how much that is.
    """

    path: Path
    manifest: Manifest
    unread: tuple[str, ...] = ()


# ------------------------------------------------------------------------------------------------------ packing


@dataclass
class _Pack:
    """The parts of one results folder. The manifest comes last, since only then the sizes are known. `places`: where
    below `root` each output lies; `left_behind`: how much of each never came that far.
    """

    root: int
    outputs: Sequence[WorkloadOutput]
    recipients: Sequence[str]
    lease: str
    places: Sequence[str]
    left_behind: Sequence[int]
    entries: list[ManifestEntry] = field(default_factory=list)

    def parts(self) -> Iterator[Part]:
        yield FolderPart(_ROOT)
        for index, output in enumerate(self.outputs):
            try:
                with opened_below(self.root, self.places[index]) as descriptor:
                    yield from self._output(index, output, descriptor)
            except OSError:
                self._note(output, None, 0, self.left_behind[index])
        manifest = Manifest(version=1, lease=self.lease, outputs=tuple(self.entries))
        yield FilePart(
            f"{_ROOT}/{_MANIFEST}", [orjson.dumps(manifest.model_dump(), option=orjson.OPT_SORT_KEYS)]
        )

    def _output(self, index: int, output: WorkloadOutput, descriptor: int) -> Iterator[Part]:
        walk = Walk(strict=False)
        size = 0

        def counted(entries: Iterator[Entry]) -> Iterator[Entry]:
            nonlocal size
            for entry in entries:
                size += entry.size
                yield entry

        last = PurePosixPath(output.path).name
        if output.public:
            name = str(index)
            yield FolderPart(f"{_ROOT}/{name}")
            yield from public_parts(counted(walk.below(descriptor, last)), prefix=f"{_ROOT}/{name}/")
        else:
            name = f"{index}.age"
            archive = tar_stream(counted(walk.below(descriptor, last)))
            yield FilePart(f"{_ROOT}/{name}", encrypted(archive, {*output.recipients, *self.recipients}))
        self._note(output, name, size, len(walk.skipped) + self.left_behind[index])

    def _note(self, output: WorkloadOutput, name: str | None, size: int, skipped: int) -> None:
        self.entries.append(
            ManifestEntry(
                path=output.path,
                name=name,
                public=output.public,
                size=size,
                missing=name is None,
                skipped=skipped,
            )
        )


async def pack_outputs(
    root: Path,
    outputs: Sequence[WorkloadOutput],
    recipients: Sequence[str],
    ipfs: Ipfs,
    *,
    lease: str,
    places: Sequence[str] | None = None,
    left_behind: Sequence[int] | None = None,
    pin: bool = True,
) -> str:
    """Adds the outputs to IPFS; the CID of them all. They lie below `root` at `places`, by default at their paths in
    the container; `left_behind` counts what of each was left out already. pin: whether the node is to keep them.

    `recipients` (age) may open every private output, besides those it names. `lease` is the label of the lease
    they belong to. An output that is not there is noted as missing, and so is one behind a link.
    Raises AgeKeyInvalid when a private output has no recipient, DatasetError when a file shrinks while it is read,
    IpfsUnreachable, IpfsError.
    """
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        places = places or [output.path for output in outputs]
        left_behind = left_behind or [0] * len(outputs)
        pack = _Pack(descriptor, outputs, recipients, lease, places, left_behind)
        return await ipfs.add_stream(pack.parts(), pin=pin)
    finally:
        os.close(descriptor)


# ----------------------------------------------------------------------------------------------------- fetching


async def fetch_results(
    cid: str,
    identity: str | None,
    dest: Path,
    ipfs: Ipfs,
    progress: Progress | None = None,
    *,
    lease: str | None = None,
    asked: Sequence[str] | None = None,
    only: Sequence[str] = (),
    force: bool = False,
    max_bytes: int | None = None,
    timeout: float | None = None,  # noqa: ASYNC109  # limits silence, not the whole
) -> ResultFolder:
    """Fetches, checks and opens a lease's results into `dest`, each output at its path in the container.

    `identity` (age) opens the private ones and may be None where there are none. `lease`: the label that the
    manifest must carry. `asked`: the paths that the workload named as outputs, where that is known: none but these may
    come. `only`: what is wanted of them, as `_results_chosen` reads it; an output travels whole, or not
    at all. `force`: into a folder that has something, where files of the same names are replaced. Without it, all
    of it appears in `dest` at once, or nothing does.
    Raises DestinationExists, ResultsInvalid, ResultsUnasked, ResultInGit, NoSuchResult, WrongIdentity, SealBroken, and
    what `Ipfs.fetch` raises.
    """
    await asyncio.to_thread(_check_free, dest, force)
    listed = {entry.name: entry for entry in await ipfs.ls(cid, timeout=timeout)}
    if _MANIFEST not in listed:
        raise ResultsInvalid(cid, f"there is no {_MANIFEST}")
    manifest = _parsed(cid, await ipfs.read_file(listed[_MANIFEST].cid, _MAX_MANIFEST, timeout=timeout))
    if lease is not None and manifest.lease != lease:
        raise ResultsInvalid(cid, f"they are of lease {manifest.lease}")
    left = tuple(output.path for output in manifest.outputs)
    chosen = [output for output in manifest.outputs if may_hold(output.path, only)]
    if only and not chosen:
        raise NoSuchResult(tuple(only), left)
    if others := unasked([output.path for output in chosen], asked):
        raise ResultsUnasked(others, tuple(asked or ()))
    manifest = manifest.model_copy(update={"outputs": tuple(chosen)})
    if identity is None and any(not o.public and o.name for o in chosen):
        raise ResultsInvalid(cid, "they are private, and no key was given")
    staging = await asyncio.to_thread(_staging, dest, force)
    came: list[str] = []
    try:
        for output in chosen:
            if output.name is None:
                continue
            came.append(output.path)
            if output.name not in listed:
                raise ResultsInvalid(cid, f"{output.name} of its manifest is not there")
            await ipfs.fetch(
                listed[output.name].cid,
                staging / PurePosixPath(output.path).parent.relative_to("/"),
                key=None if output.public else identity,
                progress=progress,
                timeout=timeout,
                max_bytes=max_bytes,
            )
            if (odd := await asyncio.to_thread(beside, staging, came)) is not None:
                raise ResultsInvalid(cid, f"{odd} lies beside the output {output.path}")
        if only and not await asyncio.to_thread(keep_wanted, staging, only):
            raise NoSuchResult(tuple(only), left)
        await asyncio.to_thread(lay_over if force else _publish, staging, dest)
    finally:
        await asyncio.to_thread(shutil.rmtree, staging, True)
    read = {_MANIFEST, *(output.name for output in chosen)}
    return ResultFolder(dest, manifest, tuple(sorted(name for name in listed if name not in read)))


def _check_free(dest: Path, force: bool) -> None:
    if force and dest.is_dir():
        return
    if dest.is_symlink() or (dest.exists() and (not dest.is_dir() or any(dest.iterdir()))):
        raise DestinationExists(str(dest))


def _staging(dest: Path, force: bool) -> Path:
    """Beside it, or in it where it stays: what is there may be a file system of its own."""
    dest.parent.mkdir(parents=True, exist_ok=True)
    place = dest if force and dest.is_dir() else dest.parent
    return Path(tempfile.mkdtemp(prefix=f".{dest.name}-", dir=place))


def _publish(staging: Path, dest: Path) -> None:
    staging.chmod(0o755)
    try:
        staging.rename(dest)  # replaces an empty folder, and nothing else
    except OSError as error:
        raise DestinationExists(str(dest)) from error


def _parsed(cid: str, content: bytes) -> Manifest:
    try:
        manifest = Manifest.model_validate_json(content)
    except ValidationError as error:
        raise ResultsInvalid(cid, f"its {_MANIFEST} has {error.error_count()} faults") from None
    names = [output.name for output in manifest.outputs if output.name is not None]
    if len(names) != len(set(names)):
        raise ResultsInvalid(cid, "a part is named twice")
    return manifest
