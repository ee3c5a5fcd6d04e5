"""What somebody sources who goes on by hand in a world that runs: of `make demo-live`, and of the documents' tests."""

from __future__ import annotations

from pathlib import Path

from devnet.world import Host, Party

_OF_THE_RUN = ("LEASEHOLD_PASSWORD", "LEASEHOLD_CACHE", "LEASEHOLD_AGENT_CONFIG")


def live_environment(newcomer: Party, host: Host, image: str, commands: Path) -> str:
    """A newcomer's settings, those of a host of theirs, an image that machines have, and where the commands are."""
    settings = {**newcomer.environment, **host.environment}
    lines = [
        f"export {key}='{value}'"
        for key, value in sorted(settings.items())
        if key.startswith("LEASEHOLD_") and key not in _OF_THE_RUN
    ]
    return "\n".join([*lines, f"export IMAGE='{image}'", f"PATH={commands}:$PATH", ""])
