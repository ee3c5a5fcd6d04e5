"""Between web3.py's terms and ours: its values as JSON-RPC writes them, its errors as this library's."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from web3.exceptions import ContractLogicError, Web3Exception, Web3RPCError

from leasehold.chain._endpoint import revert_of
from leasehold.errors import ChainError, RpcError, RpcUnavailable


def plain(value: Any) -> Any:
    """A value as JSON has it: what web3.py and its middleware made of objects, lists and bytes is undone."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return "0x" + bytes(value).hex() if isinstance(value, bytes | bytearray) else value


def answered_error(error: Web3Exception) -> Mapping[str, Any] | None:
    """The JSON-RPC error that a node answered, of which web3.py made this one; None where no node answered."""
    if isinstance(error, ContractLogicError):
        return {"code": 3, "message": str(error.message or "execution reverted"), "data": plain(error.data)}
    if isinstance(error, Web3RPCError):
        answer = (error.rpc_response or {}).get("error")
        return plain(answer) if isinstance(answer, Mapping) else {"code": 0, "message": str(error)}
    return None


def in_our_terms(error: Web3Exception, method: str = "") -> ChainError:
    """web3.py's error as one of this library's: a `ContractError` by its own name, `RpcError`, or `RpcUnavailable`.

    method: what was asked, where it is known.
    """
    answer = answered_error(error)
    if answer is None:
        return RpcUnavailable((str(error) or type(error).__name__,))
    reverted = revert_of(answer)
    if reverted is not None:
        return reverted
    code = answer.get("code")
    number = code if type(code) is int else 0
    return RpcError(number, str(answer.get("message", "")), answer.get("data"), method)


@contextmanager
def our_errors(method: str) -> Iterator[None]:
    """What is asked of web3.py within raises this library's errors. A value that it cannot read is no answer (0116)."""
    try:
        yield
    except Web3Exception as error:
        raise in_our_terms(error, method) from error
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise RpcUnavailable((f"an answer that web3.py cannot read ({error})",)) from error
