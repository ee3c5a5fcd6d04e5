"""What is offered to a pool beside machines: gateways, schedulers, bastions, IPFS nodes.

    from leasehold.services import AnnounceService, meet_service, service_document, services_of

    node = service_document("ipfs", ("/dns4/node.example/tcp/4001",), peer_id=peer)
    await pool.carry_out(AnnounceService(node))
    print([seen.document for seen in await services_of(pool)])

Anybody announces anything, and nothing of it is used but what somebody names.
"""

from leasehold.client import (
    AnnounceService,
    EndService,
    ServiceAnnounced,
    ServiceSeen,
    meet_service,
    services_of,
)
from leasehold.market import ServiceDocument, service_document

__all__ = [
    "AnnounceService",
    "EndService",
    "ServiceAnnounced",
    "ServiceDocument",
    "ServiceSeen",
    "meet_service",
    "service_document",
    "services_of",
]
