"""The faults of a run of chaos: what each strikes, how it begins and ends, and what the agent's log says of it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from devnet.kubo import Kubo
from devnet.moments import standing_still
from devnet.patience import patient
from devnet.world import Host, free_port

from .chaos_hardware import card_is_ill, card_lost, clock_wrong
from .chaos_scene import Fault, Scene, event, trouble

REFUSED = "Another agent"


# ------------------------------------------------------------------------------------------------------ the agent


@contextlib.contextmanager
def agent_killed(scene: Scene, _: int) -> Iterator[None]:
    scene.site.host.kill()
    try:
        yield
    finally:
        scene.site.host.start()


@contextlib.contextmanager
def agent_ended(scene: Scene, _: int) -> Iterator[None]:
    scene.site.host.stop()
    try:
        yield
    finally:
        scene.site.host.start()


@contextlib.contextmanager
def agent_stands_still(scene: Scene, _: int) -> Iterator[None]:
    assert scene.site.host.process is not None
    with standing_still(scene.site.host.process.pid):
        frozen, scene.frozen = scene.frozen, True
        try:
            yield
        finally:
            scene.frozen = frozen


@contextlib.contextmanager
def second_agent(scene: Scene, _: int) -> Iterator[None]:
    """With the same state folder."""
    done = scene.site.host.run("run", timeout=patient(20))
    assert done.returncode != 0
    assert REFUSED in done.stdout + done.stderr
    yield


@contextlib.contextmanager
def copied_agent(scene: Scene, _: int) -> Iterator[None]:
    """With the same key, in a copy of the state folder, at ports of its own. Where there is no chain or no engine now,
    it waits for them first: so it is looked at when all is whole.
    """
    copy = scene.later.enter_context(copy_of(scene.site.host))
    copy.start()
    scene.later.callback(is_refused, copy)
    yield


def is_refused(host: Host) -> None:
    """Waits until an agent has ended because there is another."""
    with contextlib.closing(host):
        assert host.process is not None
        assert host.process.wait(patient(20)) != 0
    assert REFUSED in host.tail()


@contextlib.contextmanager
def copy_of(host: Host) -> Iterator[Host]:
    """The same agent once more, as a copy of its state folder makes one."""
    folder = host.folder / "copied"
    state = Path(host.environment["LEASEHOLD_AGENT_STATE_DIR"])
    with contextlib.ExitStack() as undo:
        undo.callback(shutil.rmtree, folder, ignore_errors=True)
        left_out = shutil.ignore_patterns("ballast", "reserve", "*.sqlite*", "leases", "datasets", "lock")
        shutil.copytree(state, folder, ignore=left_out)
        ports = ("API_PORT", "SSH_PORT", "LIBP2P_API_PORT", "LIBP2P_SSH_PORT")
        own = {f"LEASEHOLD_AGENT_{name}": str(free_port()) for name in ports}
        yield Host(
            host.name,
            host.folder,
            {**host.environment, **own, "LEASEHOLD_AGENT_STATE_DIR": str(folder)},
            host.nursery,
        )


# ------------------------------------------------------------------------------------------- what it stands upon


@contextlib.contextmanager
def engine_away(scene: Scene, number: signal.Signals) -> Iterator[None]:
    engine, since = scene.site.engine, scene.lines
    engine.kill() if number == signal.SIGKILL else engine.stop()
    try:
        scene.says(trouble("engine"), since)
        yield
    finally:
        engine.start()


@contextlib.contextmanager
def ipfs_killed(scene: Scene, _: int) -> Iterator[None]:
    world = scene.site.world
    node: Kubo = world.provider_ipfs
    os.kill(node.pid, signal.SIGKILL)
    node.stop()
    try:
        yield
    finally:
        node.start()
        world.renter_ipfs.connect(node)


@contextlib.contextmanager
def disk_full(scene: Scene, _: int) -> Iterator[None]:
    ballast, since = scene.disk / "ballast", scene.lines
    fill(ballast)
    try:
        scene.says(trouble("disk"), since)
        fill(ballast)  # what the reserve gave
        yield
    finally:
        ballast.unlink()


def fill(ballast: Path) -> None:
    """Until its file system has no byte left."""
    with ballast.open("ab", buffering=0) as file:
        for size in (1 << 20, 4_096, 1):
            with contextlib.suppress(OSError):
                while file.write(bytes(size)):
                    pass


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A file system of 64 MiB."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64m,mode=700", "tmpfs", str(folder)]
    subprocess.run(command, check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


# ------------------------------------------------------------------------------------------------------ the chain


@contextlib.contextmanager
def rpc_cut(scene: Scene, _: int) -> Iterator[None]:
    since = scene.lines
    scene.rpc.cut()
    try:
        scene.says(trouble("chain"), since)
        yield
    finally:
        scene.rpc.mend()


@contextlib.contextmanager
def rpc_silent(scene: Scene, _: int) -> Iterator[None]:
    """No connection ends, and no answer comes before the end: what the agent asks now, it waits for."""
    scene.rpc.hold()
    frozen, scene.frozen = scene.frozen, True
    try:
        yield
    finally:
        scene.frozen = frozen
        scene.rpc.let_go()


@contextlib.contextmanager
def host_cut_off(scene: Scene, size: int) -> Iterator[None]:
    """From the chain, by both roads, and from everybody's IPFS nodes; its engine and its own node are there."""
    world = scene.site.world
    with ws_cut(scene, size), rpc_cut(scene, size):
        with contextlib.suppress(OSError):  # either node is away already
            world.provider_ipfs.disconnect(world.renter_ipfs)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):  # whoever brings it back connects it
                world.renter_ipfs.connect(world.provider_ipfs)


@contextlib.contextmanager
def ws_cut(scene: Scene, _: int) -> Iterator[None]:
    scene.ws.cut()
    try:
        yield
    finally:
        scene.ws.mend()


@contextlib.contextmanager
def clock_stepped(scene: Scene, size: int) -> Iterator[None]:
    """Further ahead of the host's clock than the agent has said so far: a reorganisation may have set it back."""
    anvil = scene.site.world.anvil
    told = [step.get("ahead") for step in scene.site.host.steps if step.get("event") == "clock"]
    ahead = (told[-1] if told else 0) + 20 + 5 * size
    anvil.set_time(max(anvil.timestamp + 1, int(time.time()) + ahead))
    anvil.mine()
    yield


@contextlib.contextmanager
def past_replaced(scene: Scene, size: int) -> Iterator[None]:
    """The newest blocks hold what others sent, and nothing of what the operator did."""
    anvil, operator = scene.site.world.anvil, scene.site.operator.address.lower()
    kept, first = [], anvil.block_number - size + 1
    for number in range(first, anvil.block_number + 1):
        for sent in anvil.request("eth_getBlockByNumber", hex(number), True)["transactions"]:
            if sent["from"].lower() != operator:
                raw = anvil.request("eth_getRawTransactionByHash", sent["hash"])
                kept.append((raw, number - first))
    anvil.reorg(size, kept)
    yield


@contextlib.contextmanager
def past_forgotten(scene: Scene, size: int) -> Iterator[None]:
    """The newest blocks hold nothing at all: leases are gone, and ends of leases."""
    scene.site.world.anvil.reorg(size)
    yield


SERVES = event("serving")
FAULTS = {
    "agent killed": Fault("agent", agent_killed, SERVES),
    "agent ended": Fault("agent", agent_ended, SERVES),
    "agent stands still": Fault("agent", agent_stands_still),
    "a second agent": Fault("agent", second_agent),
    "a copied agent": Fault("agent", copied_agent),
    "engine killed": Fault(
        "engine", lambda s, _: engine_away(s, signal.SIGKILL), event("engine", problem=None)
    ),
    "engine ended": Fault(
        "engine", lambda s, _: engine_away(s, signal.SIGTERM), event("engine", problem=None)
    ),
    "IPFS node killed": Fault("ipfs", ipfs_killed),
    "disk full": Fault("disk", disk_full, event("disk", problem=None)),
    "RPC cut": Fault("road", rpc_cut, event("chain", problem=None)),
    "RPC silent": Fault("road", rpc_silent),
    "WebSocket cut": Fault("road", ws_cut),
    "host cut off": Fault("road", host_cut_off, event("chain", problem=None)),
    "card lost": Fault("card", card_lost, card_is_ill, surely=False),
    "host's clock stepped": Fault("clock", clock_wrong, event("clock"), surely=False),
    "chain's clock stepped": Fault("chain", clock_stepped, event("clock"), surely=False),
    "past replaced": Fault("chain", past_replaced, event("reorganisation"), surely=False),
    "past forgotten": Fault("chain", past_forgotten, event("reorganisation"), surely=False),
}
PARTS = {name: fault.part for name, fault in FAULTS.items()}
