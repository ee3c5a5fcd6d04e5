"""`nvidia-smi mig`, `memory-limits`, `-mig` and `-c` for machines that have no card: it answers in the tool's words,
and changes the cards of `StandIn`. What a control group has of a card's memory lies beside them (`use_memory`).

`install` puts it on a PATH. It takes the arguments that `tests/agent/transcripts` has and refuses every other with exit
code 2, so that a wrong one fails a test; all that it was asked is kept beside it.
"""

from __future__ import annotations

import re
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path

from tests.agent.nvml.standin import Card, MigDevice, StandIn

TRANSCRIPTS = Path(__file__).parents[1] / "transcripts"
_FOLDER = Path(__file__).parents[3]


class Refused(Exception):
    """It prints this and exits with another code than 0."""


def said(transcript: str, command: str) -> str:
    """What the tool printed for a command of a transcript."""
    text = (TRANSCRIPTS / f"{transcript}.txt").read_text()
    for block in text.split("\n$ ")[1:]:
        asked, _, answer = block.partition("\n")
        if asked.removeprefix("sudo ") == command:
            return answer.rstrip("\n") + "\n"
    raise KeyError(command)


def install(folder: Path, nvml: StandIn, transcript: str = "mig-h100-80gb") -> Path:
    """The tool in a folder for the PATH, for cards that are as in the transcript. Returns where it keeps what it is
    asked.
    """
    asked = folder / "asked"
    folder.mkdir(parents=True, exist_ok=True)
    tool = folder / "nvidia-smi"
    tool.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(_FOLDER)!r})\n"
        f"from tests.agent.nvml.smi import main\n"
        f"main({str(nvml.file)!r}, {transcript!r}, {str(asked)!r})\n"
    )
    tool.chmod(0o755)
    return asked


def main(file: str, transcript: str, asked: str) -> None:
    arguments = sys.argv[1:]
    with open(asked, "a") as log:
        log.write(" ".join(arguments) + "\n")
    try:
        sys.stdout.write(_answer(StandIn(Path(file)), transcript, arguments))
    except Refused as refusal:
        sys.stdout.write(f"{refusal}\n")
        sys.exit(6)
    except (KeyError, ValueError) as wrong:
        sys.stdout.write(f"Invalid argument: {wrong}\n")
        sys.exit(2)


def _answer(nvml: StandIn, transcript: str, arguments: Sequence[str]) -> str:
    match arguments:
        case ["mig", "-i", card, ("-lgip" | "-lgipp") as what]:
            _card(nvml, card)
            return said(transcript, f"nvidia-smi mig {what}")
        case ["mig", "-i", card, "-lgi"]:
            return _listed(_card(nvml, card))
        case ["mig", "-i", card, "-cgi", slot, "-C"]:
            return _create(_card(nvml, card), transcript, slot)
        case ["mig", "-i", card, "-dci", "-gi", number]:
            return _end_compute(_card(nvml, card), int(number))
        case ["mig", "-i", card, "-dgi", "-gi", number]:
            return _end(_card(nvml, card), int(number))
        case ["memory-limits", "--set", "-n", group, "--soft-limit", soft, "--hard-limit", hard, "-i", card]:
            return _limit(nvml, card, group, soft, hard)
        case ["memory-limits", "--get", "-n", group, "-i", card]:
            return _limit_of(nvml, card, group)
        case ["-i", card, "-mig", ("0" | "1") as mode]:
            return _switch(_any_card(nvml, card), mode)
        case ["-i", card, "-c", ("DEFAULT" | "EXCLUSIVE_PROCESS") as mode]:
            _any_card(nvml, card).set(compute_mode=0 if mode == "DEFAULT" else 3)
            return ""
    raise ValueError(" ".join(arguments))


def _any_card(nvml: StandIn, name: str) -> Card:
    """By its UUID: an index is another card once one is gone."""
    for index in range(int(nvml.get("cards") or 0)):
        if nvml.card(index).uuid == name:
            return nvml.card(index)
    raise ValueError(name)


def _card(nvml: StandIn, name: str) -> Card:
    card = _any_card(nvml, name)
    if card.get("mig") != "1":
        raise Refused("No MIG-enabled devices found.")
    return card


def _switch(card: Card, mode: str) -> str:
    """As the driver does: at once since Hopper, where nobody is on the card and nothing made of it; else it waits."""
    idle = not _instances(card) and not any(card.get(f"process.{number}") for number in range(8))
    if card.get("mig") == mode:
        card.set(mig_pending=mode)
    elif idle and int((card.get("capability") or "0").split()[0]) >= 9:
        card.partition([] if mode == "1" else None)
        card.set(mig_pending=mode)
    else:
        card.set(mig_pending=mode)
        said_so = said("mig-mode", "nvidia-smi -i 2 -mig 1").replace("00000000:00:03.0", str(card.get("pci")))
        return said_so if mode == "1" else said_so.replace("enable state", "disable state")
    words = said("mig-mode", f"nvidia-smi -i {mode} -mig {mode}")
    return words.replace("00000000:36:00.0", str(card.get("pci")))


def use_memory(card: Card, group: Path, mib: int) -> None:
    """A process in the control group has so much of the card's memory."""
    card.set({f"used.{group}": mib})


def _limit(nvml: StandIn, name: str, group: str, soft: str, hard: str) -> str:
    """The group is a folder, and limits are MiB."""
    if not (soft.isdigit() and hard.isdigit()):
        raise Refused(said("memory-limits", "nvidia-smi memory-limits --set -n /sys/fs/cgroup/mygroup "
                           "--soft-limit 40G --hard-limit 40G -i 0").rstrip())  # fmt: skip
    if not Path(group).is_dir() or nvml.get("no_memory_limits"):
        raise Refused("Unable to set memory limit: Not Supported")
    _any_card(nvml, name).set({f"limit.{group}": f"{soft},{hard}"})
    return ""


def _limit_of(nvml: StandIn, name: str, group: str) -> str:
    card = _any_card(nvml, name)
    limits = (card.get(f"limit.{group}") or "").split(",")
    if not Path(group).is_dir() or len(limits) != 2:
        raise Refused("Unable to get memory limit: Not Supported")
    printed = said("memory-limits", "nvidia-smi memory-limits --get -n /sys/fs/cgroup/mygroup -i 0")
    for shown, value in (
        ("/sys/fs/cgroup/mygroup", group),
        ("4096", limits[0]),
        ("8192", limits[1]),
        ("512", card.get(f"used.{group}") or "0"),
    ):
        printed = printed.replace(shown, value, 1)
    return printed


def _instances(card: Card) -> dict[int, tuple[int, str, int, int, str]]:
    """What is there: by number the profile, its name, where it begins, its size, and the UUID; none without compute."""
    kept = (card.get("slices") or "").split()
    rows = (row.split(",") for row in kept)
    return {
        int(n): (int(p), name, int(start), int(size), "" if u == "-" else u)
        for n, p, name, start, size, u in rows
    }


def _keep(card: Card, instances: dict[int, tuple[int, str, int, int, str]]) -> None:
    rows = [f"{n},{p},{name},{start},{size},{u or '-'}" for n, (p, name, start, size, u) in instances.items()]
    card.set(slices=" ".join(rows) or None)
    card.partition([MigDevice(u, ids=(n, 0)) for n, (_, _, _, _, u) in instances.items() if u])


def _listed(card: Card) -> str:
    instances = sorted(_instances(card).items(), key=lambda item: item[1][2])
    if not instances:
        raise Refused(said("mig-h100-80gb", "nvidia-smi mig -lgi").rstrip())
    head = said("mig-a100-40gb", "nvidia-smi mig -lgi").splitlines()[:5]
    lines = []
    for number, (profile, name, start, size, _) in instances:
        row = f"|   0  {'MIG ' + name:<16}{profile:>3}{number:>9}{start:>11}:{size}     |"
        lines += [row, head[0]]
    return "\n".join([*head, *lines]) + "\n"


def _create(card: Card, transcript: str, slot: str) -> str:
    """As the driver does: an instance at a place that its profile has and nobody is at."""
    profile, start = map(int, slot.split(":"))
    places = said(transcript, "nvidia-smi mig -lgipp")
    found = re.search(rf"Profile ID +{profile} Placements? *: \{{([\d,]+)\}}:(\d+)", places)
    names = re.search(rf"MIG (\S+) +{profile} ", said(transcript, "nvidia-smi mig -lgip"))
    if found is None or names is None or str(start) not in found[1].split(","):
        raise Refused(f"Unable to create a GPU instance on GPU  0 using profile {profile}: Invalid Argument")
    size, instances = int(found[2]), _instances(card)
    if any(s < start + size and start < s + n for _, _, s, n, _ in instances.values()):
        raise Refused(
            f"Unable to create a GPU instance on GPU  0 using profile {profile}: Insufficient Resources\n"
            "Failed to create GPU instances: Insufficient Resources"
        )
    number = min(set(range(1, 15)) - instances.keys())
    name = f"MIG-{uuid.uuid4()}"
    _keep(card, instances | {number: (profile, names[1], start, size, name)})
    using = f"using profile MIG {names[1]} (ID {profile:>2})"
    return (
        f"Successfully created GPU instance ID {number:>2} on GPU  0 {using}\n"
        f"Successfully created compute instance ID  0 on GPU  0 GPU instance ID {number:>2} "
        f"using profile MIG {names[1]} (ID  0)\n"
    )


def _in_use(card: Card, number: int) -> bool:
    """Whether a process computes on it."""
    for process in range(8):
        fields = (card.get(f"process.{process}") or "").split()
        if len(fields) == 4 and int(fields[2]) == number:
            return True
    return False


def _end_compute(card: Card, number: int) -> str:
    instances = _instances(card)
    if number not in instances:
        raise Refused("No GPU instances found: Not Found")
    profile, name, start, size, device = instances[number]
    if not device:
        raise Refused(said("mig-h100-80gb", "nvidia-smi mig -dci -gi 3").rstrip())
    if _in_use(card, number):
        raise Refused(
            f"Unable to destroy compute instance ID  0 from GPU  0 GPU instance ID {number:>2}: "
            "In use by another client\nFailed to destroy compute instances: In use by another client"
        )
    _keep(card, instances | {number: (profile, name, start, size, "")})
    return f"Successfully destroyed compute instance ID  0 from GPU  0 GPU instance ID {number:>2}\n"


def _end(card: Card, number: int) -> str:
    instances = _instances(card)
    if number not in instances:
        raise Refused("No GPU instances found: Not Found")
    if instances[number][4]:
        raise Refused(said("mig-h100-80gb", "nvidia-smi mig -dgi -gi 3").rstrip())
    del instances[number]
    _keep(card, instances)
    return f"Successfully destroyed GPU instance ID {number:>2} from GPU  0\n"
