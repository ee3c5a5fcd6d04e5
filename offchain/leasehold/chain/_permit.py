"""ERC-2612: leave to take tokens, given by a signature instead of a transaction."""

from __future__ import annotations

from eth_utils.crypto import keccak

from leasehold.chain._signer import Signer, TypedData
from leasehold.chain._token import Token
from leasehold.errors import ChainError

_TYPES = {
    "EIP712Domain": [
        {"name": "name", "type": "string"},
        {"name": "version", "type": "string"},
        {"name": "chainId", "type": "uint256"},
        {"name": "verifyingContract", "type": "address"},
    ],
    "Permit": [
        {"name": "owner", "type": "address"},
        {"name": "spender", "type": "address"},
        {"name": "value", "type": "uint256"},
        {"name": "nonce", "type": "uint256"},
        {"name": "deadline", "type": "uint256"},
    ],
}
_VERSIONS = ("1", "2")  # OpenZeppelin's and most; USDC's
_DOMAIN_TYPE = "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"


async def sign_permit(
    token: Token, signer: Signer, spender: str, amount: int, *, chain_id: int, deadline: int
) -> tuple[int, bytes, bytes] | None:
    """`v, r, s` by which `spender` may take `amount` token units until `deadline`, unix seconds; `None` where the token
    takes no such signature: it has no nonces, or a domain that is not made of its name.

    Raises:
        WalletError: the holder of the key refuses.
    """
    try:
        domain = await _domain(token, chain_id)
        nonce = await token.nonce(signer.address) if domain is not None else 0
    except ChainError:
        return None
    if domain is None:
        return None
    words = {
        "owner": signer.address,
        "spender": spender,
        "value": amount,
        "nonce": nonce,
        "deadline": deadline,
    }
    message: TypedData = {"types": _TYPES, "primaryType": "Permit", "domain": domain, "message": words}
    signature = await signer.sign_typed_data(message)
    return signature[64], signature[:32], signature[32:64]


async def _domain(token: Token, chain_id: int) -> dict[str, object] | None:
    """The domain whose separator is the one that the token says: a signature under another is good for nothing."""
    name, separator = await token.name(), await token.domain_separator()
    for version in _VERSIONS:
        domain: dict[str, object] = {
            "name": name, "version": version, "chainId": chain_id, "verifyingContract": token.address,
        }  # fmt: skip
        if _separator(name, version, chain_id, token.address) == separator:
            return domain
    return None


def _separator(name: str, version: str, chain_id: int, address: str) -> bytes:
    from eth_abi.abi import encode as abi_encode

    parts = (keccak(text=_DOMAIN_TYPE), keccak(text=name), keccak(text=version), chain_id, address)
    return keccak(abi_encode(["bytes32", "bytes32", "bytes32", "uint256", "address"], parts))
