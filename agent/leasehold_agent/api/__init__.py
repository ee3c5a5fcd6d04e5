"""The agent's HTTPS API: what tenants ask of the machine that runs their leases.

Each file stands on none but those before it:

    _problems           errors as documents
    _nonces             requests that were served, so that none is served twice
    _withdrawn          sessions that their accounts have withdrawn
    _audited            what came of each request, for the audit log
    _limits             how much may be uploaded
    _streams            answers that outlive their request's check
    _logs               a log that can be taken up where it broke off
    _gate               how often anybody may ask
    _straight_body      a body past what takes HTTP apart
    _received           bodies that are larger than a workload
    _protocols          clients that send slowly, or in tiny pieces
    _auth               who may call
    _exec_input         a command on what a request brings
    _exec               a command in a container, as a WebSocket
    _exec_output        a command whose output is an answer
    _calls              what a route takes of a call
    _shared             what the routes share
    _answers            what several routes answer
    _public_routes      what anybody may ask
    _upload_routes      documents that are kept for later
    _lease_routes       what a tenant asks about a lease
    _power_routes       stop, start, restart
    _volume_routes      a tenant's volumes
    _checkpoint_routes  a lease's checkpoints
    _commit_routes      its container as an image
    _code_routes        a folder of code
    _stream_routes      a log that is followed, a command
    _audit_routes       who did what, and whose session is withdrawn
    _app                all routes
    _server             the port
    _metrics_port       another, for Prometheus
"""

from leasehold_agent.api._app import create_app, openapi
from leasehold_agent.api._auth import Authorizer, Grant
from leasehold_agent.api._limits import UploadLimits, UploadRates
from leasehold_agent.api._metrics_port import MetricsPort
from leasehold_agent.api._nonces import NonceStore
from leasehold_agent.api._server import ApiServer
from leasehold_agent.api._shared import Api

__all__ = [
    "Api",
    "ApiServer",
    "Authorizer",
    "Grant",
    "MetricsPort",
    "NonceStore",
    "UploadLimits",
    "UploadRates",
    "create_app",
    "openapi",
]
