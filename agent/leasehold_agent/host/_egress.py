"""What the host's owner lets any lease do on his network, by the name of a policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Policy = Literal["internet", "residential", "none"]
MAIL_PORTS = (25, 465, 587, 2525)
"""Where mail is handed in. An address that sends mail of strangers' is refused by everybody, for months."""
_RESIDENTIAL_DESTINATIONS = 60
_RESIDENTIAL_DOWN, _RESIDENTIAL_UP = 6_250_000, 1_250_000


@dataclass(frozen=True)
class Pace:
    """How much of the network one lease gets. `connections` at once; `destinations` are the most new ones in a minute,
    an address and a port each; `down` and `up` bytes a second to it and from it. None: as many as it likes.
    """

    connections: int = 4_096
    destinations: int | None = None
    down: int | None = None
    up: int | None = None


@dataclass(frozen=True)
class Egress:
    """The host's policy. `refused_ports` are let through to nobody's address, for any lease."""

    policy: Policy = "internet"
    refused_ports: tuple[int, ...] = ()
    pace: Pace = Pace()

    def document(self) -> dict[str, object]:
        """What contact.json says of it; `down` and `up` are bits a second."""
        pace = self.pace
        said = {
            "destinations": pace.destinations,
            "down": None if pace.down is None else 8 * pace.down,
            "up": None if pace.up is None else 8 * pace.up,
        }
        return {
            "policy": self.policy,
            "refused_ports": list(self.refused_ports),
            **{name: value for name, value in said.items() if value is not None},
        }


def egress_of(
    policy: Policy,
    *,
    connections: int,
    refused_ports: tuple[int, ...] | None = None,
    destinations: int | None = None,
    down: int | None = None,
    up: int | None = None,
) -> Egress:
    """The policy with what its owner chose otherwise: None leaves what it says, 0 is no limit."""
    home = policy == "residential"

    def chosen(own: int | None, otherwise: int) -> int | None:
        return ((otherwise if home else None) if own is None else own) or None

    return Egress(
        policy,
        (MAIL_PORTS if home else ()) if refused_ports is None else tuple(sorted(set(refused_ports))),
        Pace(
            connections,
            chosen(destinations, _RESIDENTIAL_DESTINATIONS),
            chosen(down, _RESIDENTIAL_DOWN),
            chosen(up, _RESIDENTIAL_UP),
        ),
    )
