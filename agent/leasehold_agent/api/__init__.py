"""The agent's HTTPS API: what tenants ask of the machine that runs their leases."""

from leasehold_agent._rates import Rate

from ._app import Api, create_app, create_authorizer, openapi
from ._auth import Authorizer, Call, Grant
from ._limits import UploadLimits, UploadRates
from ._nonces import NonceStore
from ._server import ApiServer

__all__ = [
    "Api",
    "ApiServer",
    "Authorizer",
    "Call",
    "Grant",
    "NonceStore",
    "Rate",
    "UploadLimits",
    "UploadRates",
    "create_app",
    "create_authorizer",
    "openapi",
]
