"""Writes docs/reference/agent.toml.md and agent/agent.toml.sample from the agent's settings.

    python scripts/agent_settings.py

A test compares both with the class, so that neither can fall behind.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from leasehold_agent._config_text import reference, sample

ROOT: Final = Path(__file__).resolve().parents[1]
PAGE: Final = ROOT / "docs/reference/agent.toml.md"
SAMPLE: Final = ROOT / "agent/agent.toml.sample"

INTRODUCTION: Final = """\
# The agent's settings

Made from the code by `python scripts/agent_settings.py`; do not edit.

The agent and every `leasehold-agent` command read one file, the first that is there:

1. what `$LEASEHOLD_AGENT_CONFIG` names; it has to be there;
2. `agent.toml` in `$LEASEHOLD_HOME`, by default `~/.config/leasehold`, if it is yours;
3. `/etc/leasehold/agent.toml`.

`agent/agent.toml.sample` is such a file with every setting explained; `leasehold-agent settings --sample` prints it,
and `leasehold-agent settings` what is in force and where each came from. `deployment` and `rpc` have to be set, and
`public_host` where renters reach the host under another address than that of its default route.

A variable is stronger than the file: `LEASEHOLD_AGENT_` and the setting's name in capitals, lists with commas between.
The agent reads its settings when it starts: `systemctl restart leasehold-agent` leaves leases running. Sizes are bytes,
times are seconds. [What a host shares out](../guides/host.md) and [installing](../guides/install.md) say when to change
what.

"""


def page() -> str:
    """The reference."""
    return INTRODUCTION + reference()


if __name__ == "__main__":
    SAMPLE.write_text(sample(), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
