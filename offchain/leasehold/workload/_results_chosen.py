"""Which of a lease's results are wanted, where they may lie, and how they come to lie beside what is there already.

A wish is a pattern as a shell has them. One that begins with a slash means a path in the container, `/outputs/*.pt`;
any other a name, or the end of a path, wherever it is: `*.pt`, `model/*.pt`. A folder's name means all that is in it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Final

from leasehold.errors import DestinationExists, WorkloadError, error_type

_GLOB: Final = "*?["
_GIT: Final = ".git"


@error_type(
    "no-such-result",
    problem="Nothing among the results is called {listed}",
    advice="the lease's outputs are {outputs}.",
)
class NoSuchResult(WorkloadError):
    """None of the wishes names anything that the lease left."""

    wishes: tuple[str, ...]
    paths: tuple[str, ...]

    @property
    def listed(self) -> str:
        return " or ".join(self.wishes)

    @property
    def outputs(self) -> str:
        return ", ".join(self.paths) or "none"


@error_type(
    "results-unasked",
    problem="The results name {listed}, and the workload asked for {outputs}",
    advice="fetch only what it asked for, and do not trust the machine that published them.",
)
class ResultsUnasked(WorkloadError):
    """paths: outputs of a machine's list that its tenant never named. asked: those that he did."""

    paths: tuple[str, ...]
    asked: tuple[str, ...]

    @property
    def listed(self) -> str:
        return ", ".join(self.paths)

    @property
    def outputs(self) -> str:
        return ", ".join(self.asked) or "none"


@error_type(
    "result-in-git",
    problem="The results hold {path}, and nothing is laid over a folder of Git's, which runs what is in it",
    advice="fetch them into a new folder.",
)
class ResultInGit(WorkloadError):
    """They were to go into a folder that has something."""

    path: str


def unasked(outputs: Sequence[str], asked: Sequence[str] | None) -> tuple[str, ...]:
    """Outputs that nobody asked for. asked: `None` where nobody knows what was."""
    return () if asked is None else tuple(path for path in outputs if path not in asked)


def beside(folder: Path, outputs: Sequence[str]) -> str | None:
    """What lies in `folder`, which stands for the container's root, and in none of the outputs; `None` where all
    does. Nothing within an output is looked at.
    """
    places = {PurePosixPath(output).relative_to("/") for output in outputs}
    above = {parent for place in places for parent in place.parents}
    for parent in above:
        here = folder / parent
        if here.is_symlink() or not here.is_dir():
            continue  # it was found where it lies, or is not there
        with os.scandir(here) as listing:
            for entry in listing:
                path = parent / entry.name
                if path not in places and not (path in above and entry.is_dir(follow_symlinks=False)):
                    return f"/{path}"
    return None


def wanted(path: PurePosixPath, wishes: Sequence[str]) -> bool:
    """Whether one of the wishes means a path in the container, or a folder that it is in. Without wishes all are."""
    return not wishes or any(_means(wish, place) for wish in wishes for place in (path, *path.parents))


def may_hold(output: str, wishes: Sequence[str]) -> bool:
    """Whether something that is wanted may be in an output: before it is fetched, nobody knows what is in it."""
    return wanted(PurePosixPath(output), wishes) or any(_leads_into(wish, output) for wish in wishes)


def keep_wanted(folder: Path, wishes: Sequence[str]) -> int:
    """Take away from `folder`, which stands for the container's root, what is not wanted; how many files are left."""
    left = 0
    for place, names, files in os.walk(folder, topdown=False):
        for name in (*files, *(name for name in names if (Path(place) / name).is_symlink())):
            path = Path(place) / name
            if wanted(PurePosixPath("/", path.relative_to(folder)), wishes):
                left += 1
            else:
                path.unlink()
        if wishes and Path(place) != folder and not os.listdir(place):
            os.rmdir(place)
    return left


def lay_over(staging: Path, folder: Path) -> None:
    """Move all of `staging` into `folder`. What has the same name there is replaced, links by what is new and never
    followed; everything else stays.

    Raises:
        DestinationExists: a folder stands where a file should go. ResultInGit. Nothing was moved then.
    """
    folders, files = _contents(staging)
    for path in (*folders, *files):
        if path.name.casefold() == _GIT:
            raise ResultInGit(f"/{path.as_posix()}")
    for file in files:
        there = folder / file
        if there.is_dir() and not there.is_symlink():
            raise DestinationExists(str(there))
    folder.mkdir(exist_ok=True)
    for place in folders:
        there = folder / place
        if there.is_symlink() or there.is_file():
            there.unlink()
        there.mkdir(exist_ok=True)
    for file in files:
        (staging / file).replace(folder / file)


def _contents(staging: Path) -> tuple[list[Path], list[Path]]:
    """What is in it, from the outside in: folders, and all else, of which links to folders are a part."""
    folders, files = list[Path](), list[Path]()
    for place, names, others in os.walk(staging):
        within = Path(place).relative_to(staging)
        links = [name for name in names if (Path(place) / name).is_symlink()]
        folders += [within / name for name in names if name not in links]
        files += [within / name for name in (*others, *links)]
    return folders, files


def _means(wish: str, path: PurePosixPath) -> bool:
    wish = wish.rstrip("/") or "/"
    if "/" in wish:
        return fnmatchcase(str(path), wish if wish.startswith("/") else f"*/{wish}")
    return fnmatchcase(path.name, wish)


def _leads_into(wish: str, output: str) -> bool:
    """Whether what a wish means may lie below `output`."""
    if not wish.startswith("/"):
        return True
    at = next((place for place, letter in enumerate(wish) if letter in _GLOB), len(wish))
    fixed, below = wish[:at], f"{output.rstrip('/')}/"
    return fixed.startswith(below) or (at < len(wish) and below.startswith(fixed))
