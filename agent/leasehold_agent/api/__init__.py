"""The agent's HTTPS API: what tenants ask of the machine that runs their leases.

Each file stands on none but those before it:

    _problems      errors as documents
    _nonces        requests that were served, so that none is served twice
    _limits        how much may be uploaded
    _streams       answers that outlive their request's check
    _received      bodies that are larger than a workload
    _logs          a log that can be taken up where it broke off
    _gate          how often anybody may ask
    _protocols     clients that send slowly, or in tiny pieces
    _auth          who may call
    _exec          a command in a container, as a WebSocket
    _app           the routes
    _server        the port
    _metrics_port  another, for Prometheus
"""

from leasehold_agent.access import RateLimit
from leasehold_agent.api._app import Api, create_app, create_authorizer, openapi
from leasehold_agent.api._auth import Authorizer, Grant, SignedCall
from leasehold_agent.api._limits import UploadLimits, UploadRates
from leasehold_agent.api._metrics_port import MetricsPort
from leasehold_agent.api._nonces import NonceStore
from leasehold_agent.api._server import ApiServer

__all__ = [
    "Api",
    "ApiServer",
    "Authorizer",
    "Grant",
    "MetricsPort",
    "NonceStore",
    "RateLimit",
    "SignedCall",
    "UploadLimits",
    "UploadRates",
    "create_app",
    "create_authorizer",
    "openapi",
]
