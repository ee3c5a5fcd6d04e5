"""From a person's file to sealed bytes that one machine can open, and back."""

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import orjson
from pydantic import ValidationError

from leasehold.datasets import decrypt, encrypt
from leasehold.errors import (
    WorkloadError,
    WorkloadFieldUnknown,
    WorkloadInvalid,
    WorkloadTooLarge,
    WorkloadUnsupported,
)
from leasehold.workload._model import Workload

MAX_SEALED_BYTES: Final = 1024 * 1024
"""One IPFS block, and the most an agent takes."""

_WHAT: Final = "the sealed workload"


def load_workload(source: Path | str | Mapping[str, object], *, recipients: Sequence[str] = ()) -> Workload:
    """A workload out of a TOML or JSON file, or a dictionary.

    `recipients` (age) are given to every output that is neither public nor names its own.
    Raises WorkloadFieldUnknown, WorkloadUnsupported, WorkloadTooLarge, WorkloadInvalid with all its problems.
    """
    data = dict(source) if isinstance(source, Mapping) else _read(Path(source))
    outputs = data.get("outputs")
    if recipients and isinstance(outputs, list | tuple):
        data["outputs"] = [_with_recipients(output, recipients) for output in outputs]
    return _validated(data)


def seal(workload: Workload, *recipients: str) -> bytes:
    """The workload, sealed to a machine's recipient; to several, where a gang shares one.

    Raises WorkloadTooLarge, AgeKeyInvalid, WorkloadInvalid when a private output has nobody to read it, a volume no
    key, or the image is a tag.
    """
    unread = [o.path for o in workload.outputs if not o.public and not o.recipients]
    if unread:
        raise WorkloadInvalid(tuple(f"outputs: {p} is private and has no recipients" for p in unread))
    _check_pinned(workload)
    if unkeyed := [volume.name for volume in workload.volumes or () if volume.key is None]:
        raise WorkloadInvalid(tuple(f"volumes: {name} has no key" for name in unkeyed))
    sealed = encrypt(workload.canonical(), recipients)
    if len(sealed) > MAX_SEALED_BYTES:
        raise WorkloadTooLarge(len(sealed), MAX_SEALED_BYTES)
    return sealed


def unseal(sealed: bytes, identity: str) -> Workload:
    """The workload in `sealed`, by the machine's identity. What is in it was written by a stranger.

    Raises WorkloadTooLarge, WrongIdentity, SealBroken, and what `load_workload` raises.
    """
    if len(sealed) > MAX_SEALED_BYTES:
        raise WorkloadTooLarge(len(sealed), MAX_SEALED_BYTES)
    workload = _validated(_parsed_json(decrypt(sealed, identity, _WHAT)))
    _check_pinned(workload)
    return workload


def digest(sealed: bytes) -> bytes:
    """The SHA-256 that goes on chain; `leasehold.chain.cid_of_digest` of it is where IPFS has these bytes."""
    return hashlib.sha256(sealed).digest()


def _read(path: Path) -> dict[str, object]:
    try:
        if path.stat().st_size > MAX_SEALED_BYTES:
            raise WorkloadTooLarge(path.stat().st_size, MAX_SEALED_BYTES)
        content = path.read_bytes()
    except OSError as error:
        raise WorkloadInvalid((f"{path} cannot be read ({error.strerror})",)) from error
    if path.suffix == ".json":
        return _parsed_json(content)
    try:
        return tomllib.loads(content.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise WorkloadInvalid((f"{path} is no TOML ({error})",)) from error


def _parsed_json(content: bytes) -> dict[str, object]:
    try:
        data = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise WorkloadInvalid((f"it is no JSON ({error})",)) from error
    if not isinstance(data, dict):
        raise WorkloadInvalid(("it is no JSON object",))
    return data


def _check_pinned(workload: Workload) -> None:
    if not workload.pinned:
        raise WorkloadInvalid((f"image: {workload.image} is a tag, which may be another image tomorrow",))


def _with_recipients(output: object, recipients: Sequence[str]) -> object:
    if isinstance(output, dict) and not output.get("public") and not output.get("recipients"):
        return {**output, "recipients": list(recipients)}
    return output


def _validated(data: Mapping[str, object]) -> Workload:
    try:
        return Workload.model_validate(data)
    except ValidationError as error:
        raise _translated(error) from None  # the original holds the input, secrets and all


def _translated(error: ValidationError) -> WorkloadError:
    problems = error.errors(include_url=False, include_input=False)
    for problem in problems:
        if problem["type"] == "unserved":
            return WorkloadUnsupported(problem["msg"])
    for problem in problems:
        if problem["type"] == "extra_forbidden":
            return WorkloadFieldUnknown(".".join(str(part) for part in problem["loc"]))
    return WorkloadInvalid(
        tuple(
            " ".join(filter(None, [".".join(str(part) for part in problem["loc"]), problem["msg"]]))
            for problem in problems
        )
    )
