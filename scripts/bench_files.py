"""How fast a folder of code reaches a lease's container, beside `rsync` to the same container; a file of 1 GiB, beside
`docker cp`; and a log of short lines, beside `docker logs`.

Both sides have one engine and one machine, and take turns. `rsync` goes by `docker exec`, which is the shortest way
there is: no network, no cipher. Ours counts from the first look at the folder until it lies unpacked in the container
of a lease that waits for nothing else. `run.code_again` brings one changed file in a hundred to the same container, by
`sync`; `run.code_next` all of it to the container of the next lease, to which a peer has to bring everything. Before
each turn of either side the disk has all that the turns before left to it: else it is written half a minute later, at
the cost of whoever runs then.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import statistics
import subprocess
import tarfile
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import leasehold
from devnet import images
from devnet.patience import patient
from devnet.site import Site, make_site
from devnet.world import PASSWORD, World
from leasehold.chain import Keystore
from leasehold.client import PoolClient
from leasehold.copying import (
    CodeFolder,
    LeaseShell,
    SyncOptions,
    copy_in,
    copy_out,
    lease_shell,
    look_over,
    sync_in,
)

FILES, BYTES = 10_000, 200 * 10**6
COPY_BYTES, LOG_LINES = 1 << 30, 150_000
CODE_IN_GOAL, CODE_AGAIN_GOAL, CP_GOAL, LOG_GOAL = 1.3, 2.0, 1.5, 0.5
ROUNDS = 3
_WORKLOAD = {"version": 1, "command": ["sleep", "3600"], "memory": 512 << 20, "disk": 4 << 30, "grace": 0}
_ROOMY = {**_WORKLOAD, "memory": 2 * COPY_BYTES}
"""What is written in a container is held against its memory: in one that the file fills, each way of writing there
waits for the disk, but for `docker cp`, whose bytes are held against the engine.
"""


def run() -> list[dict[str, Any]]:
    """The rows; times in seconds."""
    with tempfile.TemporaryDirectory(prefix="leasehold-bench-") as name:
        folder = Path(name)
        with World(folder / "world") as world, make_site(world) as site:
            images.load(world.engine.url, images.tiny())
            image = _image_with_rsync(world.engine.url, folder)
            rows = _no_rsync() if image is None else asyncio.run(_code_rows(site, image, folder / "code"))
            rows += asyncio.run(_copy_rows(site, site.tiny, folder / "large"))
            return [*rows, _log_row(site, site.tiny)]


def _no_rsync() -> list[dict[str, Any]]:
    """A host without the peer says so, and fails nobody's run."""
    said = "left out: this host has no rsync; apt-get install rsync"
    names = ("run.code_in", "run.code_again", "run.code_next")
    return [
        {"name": name, "ours": None, "reference": None, "ratio": None, "goal": said, "ok": True}
        for name in names
    ]


async def _code_rows(site: Site, image: str, code: Path) -> list[dict[str, Any]]:
    """Code that is new to both; one file in a hundred changed, into the same container; and all of it into that of the
    next lease, where a peer has to bring everything again.
    """
    ours, again, following = list[float](), list[float](), list[float]()
    theirs, theirs_again, theirs_following = list[float](), list[float](), list[float]()
    for number in range(ROUNDS):
        shutil.rmtree(code, ignore_errors=True)
        _write_code(code, number)  # none of it is where anything has been before
        with _container(site, image) as name:
            theirs.append(_rsync(site, code, name))
            async with _handed_in(site, image, code) as (took, shell):
                ours.append(took)
                await sync_in(shell, code, "/work", SyncOptions())
                _touch(code)
                theirs_again.append(_rsync(site, code, name))
                os.sync()
                began = time.perf_counter()
                await sync_in(shell, code, "/work", SyncOptions())
                again.append(time.perf_counter() - began)
        with _container(site, image) as name:
            theirs_following.append(_rsync(site, code, name))
            async with _handed_in(site, image, code) as (took, _):
                following.append(took)
    return [
        _row("run.code_in", ours, theirs, CODE_IN_GOAL),
        _row("run.code_again", again, theirs_again, CODE_AGAIN_GOAL),
        _row("run.code_next", following, theirs_following, CODE_IN_GOAL),
    ]


async def _copy_rows(site: Site, image: str, large: Path) -> list[dict[str, Any]]:
    """A file that does not compress, into a container that runs, and out of it."""
    source, back = random.Random(0), large.with_name("back")
    with large.open("wb") as file:
        for _ in range(COPY_BYTES >> 20):
            file.write(source.randbytes(1 << 20))
    ours, theirs, ours_out, theirs_out = list[float](), list[float](), list[float](), list[float]()
    lease = await asyncio.to_thread(site.rent, **{**_ROOMY, "image": image})
    number = leasehold.parse_lease(lease)
    async with _pool(site) as pool:
        for _ in range(ROUNDS):
            with _container(site, image, _ROOMY) as name:
                theirs.append(_docker_cp(site, str(large), f"{name}:/large"))
                theirs_out.append(_docker_cp(site, f"{name}:/large", str(back)))
                back.unlink()
            os.sync()
            began = time.perf_counter()
            async with lease_shell(pool, number) as shell:
                await copy_in(shell, large, "/large")
            ours.append(time.perf_counter() - began)
            os.sync()
            began = time.perf_counter()
            async with lease_shell(pool, number) as shell:
                await copy_out(shell, "/large", back)
            ours_out.append(time.perf_counter() - began)
            back.unlink()
            async with lease_shell(pool, number) as shell:
                await shell.ask("rm /large")
        await pool.carry_out(leasehold.Close(number))
    return [
        _row("files.cp_1gib", ours, theirs, CP_GOAL, "docker cp"),
        _row("files.cp_1gib_out", ours_out, theirs_out, CP_GOAL, "docker cp"),
    ]


def _docker_cp(site: Site, source: str, target: str) -> float:
    """Seconds of a copy either way."""
    os.sync()
    began = time.perf_counter()
    _quiet(["docker", "-H", site.world.engine.url, "cp", source, target])
    return time.perf_counter() - began


def _log_row(site: Site, image: str) -> dict[str, Any]:
    """Lines of a dozen bytes, as fast as they are read; in lines a second."""
    count = LOG_LINES
    lease = site.rent(**{**_WORKLOAD, "image": image, "command": ["sh", "-c", f"seq -w {count}; sleep 3600"]})
    (container,) = site.containers(lease)
    read = ["docker", "-H", site.world.engine.url, "logs", container["Id"]]
    site.until(lambda: _lines(read) == count, patient(120))
    ours, theirs = list[float](), list[float]()
    for _ in range(ROUNDS):
        began = time.perf_counter()
        _lines(read)
        theirs.append(time.perf_counter() - began)
        began = time.perf_counter()
        asyncio.run(_read_log(site, lease, count))
        ours.append(time.perf_counter() - began)
    site.renter("close", lease, "--yes")
    mine, reference = count / statistics.median(ours), count / statistics.median(theirs)
    return {
        "name": "logs.rate",
        "ours": round(mine),
        "reference": round(reference),
        "ratio": round(mine / reference, 3),
        "goal": f"≥ {LOG_GOAL} × docker logs",
        "ok": mine / reference >= LOG_GOAL,
    }


def _lines(read: list[str]) -> int:
    return subprocess.run(read, check=True, capture_output=True).stdout.count(b"\n")


async def _read_log(site: Site, lease: str, count: int) -> None:
    number, lines = leasehold.parse_lease(lease), 0
    async with _pool(site) as pool, pool.agent_of(number) as agent:
        async for data in agent.logs(number):
            lines += data.count(b"\n")
    assert lines == count, lines


def _row(
    name: str, ours: list[float], theirs: list[float], goal: float, peer: str = "rsync"
) -> dict[str, Any]:
    mine, reference = statistics.median(ours), statistics.median(theirs)
    return {
        "name": name,
        "ours": round(mine, 3),
        "reference": round(reference, 3),
        "ratio": round(mine / reference, 3),
        "goal": f"≤ {goal} × {peer}",
        "ok": mine / reference <= goal,
    }


@contextmanager
def _container(site: Site, image: str, like: Mapping[str, Any] = _WORKLOAD) -> Iterator[str]:
    engine = ["docker", "-H", site.world.engine.url]
    name = f"plain-{time.time_ns()}"
    limits = ["--memory", str(like["memory"]), "--storage-opt", f"size={like['disk']}"]
    _quiet([*engine, "run", "--detach", "--name", name, *limits, image, "sleep", "3600"])
    try:
        yield name
    finally:
        _quiet([*engine, "rm", "--force", name])


def _rsync(site: Site, code: Path, name: str) -> float:
    shell = f"docker -H {site.world.engine.url} exec -i"
    os.sync()
    began = time.perf_counter()
    _quiet(["rsync", "--archive", "--delete", f"--rsh={shell}", f"{code}/", f"{name}:/work/"])
    return time.perf_counter() - began


@asynccontextmanager
async def _pool(site: Site) -> AsyncIterator[PoolClient]:
    wallet = await Keystore(site.renter.home / "keys").unlock(site.renter.name, PASSWORD)
    async with leasehold.connect(
        site.world.deployment,
        wallet=wallet,
        rpc=site.world.anvil.url,
        ipfs=site.world.renter_ipfs.api,
        home=site.renter.home,
    ) as pool:
        await pool.index()
        yield pool


@asynccontextmanager
async def _handed_in(site: Site, image: str, code: Path) -> AsyncIterator[tuple[float, LeaseShell]]:
    """Seconds of looking, and from offering until it is unpacked, in a lease that waits for nothing else; and a shell
    there, until it is closed.
    """
    async with _pool(site) as pool:
        workload = pool.workload({**_WORKLOAD, "image": image, "egress": "none"})
        os.sync()
        began = time.perf_counter()
        await look_over(pool, CodeFolder(code))
        looked = time.perf_counter() - began
        request = leasehold.Rent(
            workload,
            seconds=3600,
            machines=(site.machine,),
            allow_unverified=True,
            wait=False,
            code=CodeFolder(code),
        )
        since, handing, lease = len(site.host.steps), 0.0, 0
        async for step in pool.steps(await pool.plan(request), approve=True):
            if isinstance(step, leasehold.LeasesOpened):
                lease = step.opened[0].lease
                await asyncio.to_thread(site.host.wait_for, _is("code"), patient(60), since)
                handing = time.time()
        started = await asyncio.to_thread(site.host.wait_for, _is("start"), patient(120), since)
        async with lease_shell(pool, lease) as shell:
            await asyncio.to_thread(
                site.until, lambda: site.containers(leasehold.format_lease(lease))[0]["State"]["Running"]
            )
            yield looked + started.at - handing, shell
        await pool.carry_out(leasehold.Close(lease))


def _is(step: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda line: line.get("event") == "step" and line.get("step") == step


def _image_with_rsync(url: str, folder: Path) -> str | None:
    """busybox, and the host's rsync with what it is linked to; its id. None where this host has none."""
    program = shutil.which("rsync")
    if program is None:
        return None
    linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout.split()
    layer, tiny = folder / "layer.tar", folder / "tiny"
    images.unpacked(images.tiny(), tiny)
    with tarfile.open(layer, "w") as out:
        out.add(tiny, ".")
        for path in [program, *(word for word in linked if word.startswith("/"))]:
            out.add(Path(path).resolve(), path.lstrip("/"))
    image = images.archive_of(layer, "leasehold/rsync:1", {"Cmd": ["sh"]}, folder / "image.tar")
    images.load(url, images.Image("leasehold/rsync:1", image, folder / "image.tar"))
    return image


def _write_code(folder: Path, seed: int) -> None:
    """Text like a program's, the same on every run: a hundred folders of a hundred files."""
    source = random.Random(seed)
    words = [
        "".join(source.choices("abcdefghijklmnopqrstuvwxyz_", k=source.randrange(2, 11))) for _ in range(3000)
    ]
    for number in range(FILES):
        place = folder / f"{number // 100}"
        place.mkdir(parents=True, exist_ok=True)
        size, lines = source.randrange(BYTES // FILES * 2), list[str]()
        while sum(map(len, lines)) < size:
            lines.append(" " * source.choice((0, 4, 8)) + " ".join(source.choices(words, k=200)) + "\n")
        (place / f"{number}.py").write_text("".join(lines)[:size])


def _touch(folder: Path) -> None:
    """One file in a hundred says something else."""
    for place in folder.iterdir():
        file = min(place.iterdir())
        file.write_text("changed = True\n" + file.read_text())


def _quiet(command: list[str]) -> None:
    subprocess.run(command, check=True, capture_output=True)


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
