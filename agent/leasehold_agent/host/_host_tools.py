"""Programs of the host's, run to their end, and none for ever."""

from __future__ import annotations

import subprocess

from leasehold_agent._errors import VolumeTrouble

_MOST_SAID = 300


def host_tool(*command: str, seconds: float = 120.0, good: tuple[int, ...] = (0,)) -> None:
    """Run a program. Raises VolumeTrouble with what it said where it fails, is not there, or takes too long."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except FileNotFoundError as error:
        raise VolumeTrouble(f"{command[0]} is not on this host.") from error
    except subprocess.TimeoutExpired as error:
        raise VolumeTrouble(f"{command[0]} has not ended within {seconds:g} s.") from error
    if done.returncode not in good:
        said = " ".join((done.stderr or done.stdout).split())[-_MOST_SAID:]
        raise VolumeTrouble(f"{command[0]}: {said or f'it ended with {done.returncode}'}")
