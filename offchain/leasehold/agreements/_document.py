"""Files that people hand to one another: proposals, signatures, acceptances, offers, requests for a quote.

Each is one JSON object that says what it is (`leasehold`) and of which version. What is in one was written by a
stranger: it is checked to its form here, and against the chain where it is used.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, TypeVar

from eth_utils.address import is_hex_address, to_checksum_address
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from leasehold.agreements._errors import FileRefused, FileUnwritable
from leasehold.fields import in_words
from leasehold.files import write_private, write_whole

MAX_FILE_BYTES = 4 * 1024 * 1024


def _address(text: str) -> str:
    if not is_hex_address(text) or not text.startswith("0x"):
        raise ValueError("it is no address")
    return to_checksum_address(text)


def _hexadecimal(text: str) -> str:
    if not text.startswith("0x"):
        raise ValueError("it does not begin with 0x")
    bytes.fromhex(text[2:])
    return text


Address = Annotated[str, AfterValidator(_address)]
Hex = Annotated[str, AfterValidator(_hexadecimal)]


class Document(BaseModel):
    """The root of every such file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)


D = TypeVar("D", bound=Document)


def unhex(text: str) -> bytes:
    """The bytes of a `Hex`."""
    return bytes.fromhex(text[2:])


def read_file(path: Path, kind: type[D]) -> D:
    """The document in a file.

    Raises:
        FileRefused: it cannot be read, or is none of this kind.
    """
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise FileRefused(f"{path} is too large to be what is meant here: name another file.")
        loaded = json.loads(path.read_bytes())
    except OSError as error:
        raise FileRefused(f"{path}: {error.strerror or 'it cannot be read'}; name another file.") from error
    except (ValueError, RecursionError) as error:
        raise FileRefused(f"{path} is no JSON ({error}): ask for it again.") from error
    try:
        return kind.model_validate(loaded)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the whole"
        what = _type_name(kind)
        raise FileRefused(
            f"{path} holds no {what} ({where}: {in_words(first['msg'])}): ask for it again."
        ) from error


def kind_in(path: Path) -> str:
    """What a file says that it is, or an empty text."""
    try:
        loaded = json.loads(path.read_bytes()[:MAX_FILE_BYTES])
    except (OSError, ValueError, RecursionError):
        return ""
    return str(loaded.get("leasehold", "")) if isinstance(loaded, dict) else ""


def _type_name(kind: type[Document]) -> str:
    """What people call the document."""
    return str(kind.model_fields["leasehold"].default).replace("-", " ")


def write_file(path: Path, document: Document, *, private: bool = False) -> None:
    """Write the document, whole or not at all.

    Raises:
        FileRefused: it cannot be written.
    """
    text = json.dumps(document.model_dump(mode="json", exclude_none=True), indent=2) + "\n"
    try:
        (write_private if private else write_whole)(path, text)
    except OSError as error:
        raise FileUnwritable(str(path), error.strerror or "no reason") from error
