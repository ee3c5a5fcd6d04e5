"""What somebody offers to a pool beside machines, as the Directory names it: a document of his, and its form.

Anybody announces anything there. Nothing of it is used but what somebody names, and an IPFS node is trusted with
nothing even then: what it gives is hashed.
"""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from leasehold.market._documents import Text, canonical
from leasehold.market._errors import InvalidInput
from leasehold.market._peers import MOST_ADDRESSES, at_peer

KINDS: Final = ("access", "scheduler", "gateway", "ipfs", "seed")
"""What the Directory knows: a bastion, a scheduler, a gateway, an IPFS node that answers, one that keeps data."""
NODES: Final = ("ipfs", "seed")
"""Those that are IPFS nodes."""
_URL: Final = re.compile(r"https://[^\s/?#@]{1,255}(/[^\s]{0,512})?")
_PEER: Final = re.compile(r"[A-Za-z0-9]{20,100}")


class ServiceDocument(BaseModel):
    """Where a service is: at https addresses, or as an IPFS peer at multiaddrs. note: its provider's words."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    version: Literal[1] = 1
    kind: Text
    endpoints: Annotated[tuple[Text, ...], Field(max_length=MOST_ADDRESSES)] = ()
    peer_id: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]{20,100}$")] | None = None
    note: Text = ""

    @property
    def encoded(self) -> bytes:
        """What its digest is of."""
        return canonical(self.model_dump(mode="json", exclude_none=True))

    @property
    def dialled(self) -> tuple[str, ...]:
        """Where one's own IPFS node may look for it: addresses of that peer alone."""
        return at_peer(self.peer_id, self.endpoints) if self.kind in NODES else ()


def service_document(
    kind: str, endpoints: tuple[str, ...], *, peer_id: str | None = None, note: str = ""
) -> ServiceDocument:
    """A service to announce.

    Raises:
        InvalidInput: there is no such kind, it says of no place, or of one that nobody could use.
    """
    if kind not in KINDS:
        raise InvalidInput(f"There is no service of the kind '{kind}'", f"use one of {', '.join(KINDS)}.")
    if peer_id is not None and not _PEER.fullmatch(peer_id):
        raise InvalidInput(f"'{peer_id[:64]}' is no peer", "name what `ipfs id` shows as ID.")
    if kind in NODES and peer_id is None:
        raise InvalidInput("An IPFS node is found by its peer", "name what `ipfs id` shows as ID.")
    if not 0 < len(endpoints) <= MOST_ADDRESSES:
        raise InvalidInput(f"A service is at one to {MOST_ADDRESSES} addresses", "name them.")
    for endpoint in endpoints:
        usable = at_peer(peer_id, (endpoint,)) if kind in NODES else _URL.fullmatch(endpoint)
        if not usable:
            wanted = "/dns4/node.example/tcp/4001" if kind in NODES else "https://gateway.example"
            raise InvalidInput(f"'{endpoint[:64]}' is no address for it", f"write one such as {wanted}.")
    if len(note) > 256 or not note.isprintable():
        raise InvalidInput("A note has one line of 256 characters", "shorten it.")
    return ServiceDocument(kind=kind, endpoints=endpoints, peer_id=peer_id, note=note)
