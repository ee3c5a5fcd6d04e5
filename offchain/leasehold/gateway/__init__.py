"""The gateway: a pool for browsers, over HTTP and WebSockets. A face of the library, as the command line is another.

    settings = GatewaySettings(Deployment.load("pool.json"), Path("/var/lib/leasehold-gateway"))
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(serve(settings, "127.0.0.1", 8080))

It decides nothing, and holds no key but, where its operator gives it one, of gas money. What it says of the chain its
index says, and whoever doubts it asks the chain.

Its files, in order: `_settings`, `_errors`, `_problems`, `_describing` (the document that describes it), `_limits`,
`_visitors` (whose address counts), `_words` (the library's things as JSON), `_documents`, `_board` (the machines,
searched), `_hub` (who is told what), `_outlets` (how one writes it for many), `_facts` (what is asked of the chain
itself), `_market` (all of it, kept at the index's head), `_gateway` (what routes share), `_following`, the parts beside
the index (who is signed in: `_refusals`, `_parts`, `_bodies`, `_places`, `_gateway_tables`, `_nonces`, `_sessions`,
`_sign_in_message`, `_signing_in`; ways to agents: `_agent_paths`, `_lines`, `_relaying`, `_terminals`; the chain:
`_rpc_calls`, `_rpc`; data: `_keeping`, `_uploads`, `_uploading`; groups: `_gathering`; renters without gas money:
`_gas_costs`, `_gasless`; what one replica does for all: `_elected_keeper`; who is
told of his leases: `_recipients`, `_watching`, `_alerting`; all together:
`_opened_parts`), then files of routes, `_searching` (the search that needs
none), `_site` (the dApp's files), `_front` (headers, limits, last resort), `_app`, `_opening`, `_serving`.
"""

from typing import TYPE_CHECKING

from leasehold._faces import face

if TYPE_CHECKING:
    from leasehold.gateway._app import create_app, openapi
    from leasehold.gateway._serving import loop_factory, serve
    from leasehold.gateway._settings import GaslessSettings, GatewaySettings
    from leasehold.gateway._site import packaged_dapp

__all__ = [
    "GaslessSettings",
    "GatewaySettings",
    "create_app",
    "loop_factory",
    "openapi",
    "packaged_dapp",
    "serve",
]

_PARTS = {
    "_app": ("create_app", "openapi"),
    "_serving": ("loop_factory", "serve"),
    "_settings": ("GaslessSettings", "GatewaySettings"),
    "_site": ("packaged_dapp",),
}  # fmt: skip
if not TYPE_CHECKING:
    __getattr__ = face(__name__, _PARTS)
