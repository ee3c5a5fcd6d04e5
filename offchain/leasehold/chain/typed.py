"""Typed data (EIP-712): what is signed, how, and how a signature is checked.

domain = Domain(chain_id=31337, verifying_contract=deployment.controller)
request = Request(account=…, chain=31337, …)
proof = await sign_request(request, domain, wallet)
await verify_request(request, proof, domain=domain, now=now, is_authorized=accounts.is_authorized)

group = Group.of(2, [ada, grace, edsger])
account = group.address(deployment.accounts)
proof = group.prove(Execute(account=account, …).digest(accounts_domain), {ada: hers, grace: hers_too})
"""

from leasehold.chain._eip712 import Domain, Struct, TypedData
from leasehold.chain._group import *  # noqa: F403
from leasehold.chain._group import __all__ as _group_names
from leasehold.chain._proof import *  # noqa: F403
from leasehold.chain._proof import __all__ as _proof_names
from leasehold.chain._safe import *  # noqa: F403
from leasehold.chain._safe import __all__ as _safe_names
from leasehold.chain._typed import *  # noqa: F403
from leasehold.chain._typed import __all__ as _typed_names

__all__ = ["Domain", "Struct", "TypedData"]
__all__ += _group_names
__all__ += _proof_names
__all__ += _safe_names
__all__ += _typed_names
