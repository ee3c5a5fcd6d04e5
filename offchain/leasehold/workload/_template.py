"""Templates: workloads that many people start from, as readable files that anybody can copy and change.

A template is a workload in TOML with one table more, `[template]`: what it is, which secrets are made anew for each
lease, and what to do once it runs. Some come with the library; a person's own lie in a folder of his, and one of the
same name there counts instead.
"""

from __future__ import annotations

import re
import secrets
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from leasehold.errors import WorkloadError, WorkloadInvalid, error_type
from leasehold.workload._template_table import TemplateTable

_MOST: Final = 256 << 10
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_STEERING: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_SUFFIX: Final = ".toml"
_SECRET_BYTES: Final = 24


@error_type(
    "template-unknown",
    problem="There is no template '{name}'",
    advice="choose one of {listed}, or name a file.",
)
class TemplateUnknown(WorkloadError):
    """None of that name comes with the library or lies in the folder."""

    name: str
    known: tuple[str, ...]

    @property
    def listed(self) -> str:
        return ", ".join(self.known)


@dataclass(frozen=True)
class Template:
    """text: the file as it is. content: the workload's fields. table: the rest. own: it is not the library's."""

    name: str
    text: str
    content: Mapping[str, object]
    table: TemplateTable
    own: bool = False

    @property
    def image(self) -> str:
        """What it runs; empty where whoever uses it names that."""
        return str(self.content.get("image", ""))

    def to_json(self) -> dict[str, str | bool]:
        """What it is, for a program."""
        return {"name": self.name, "summary": self.table.summary, "image": self.image, "own": self.own}

    def new_secrets(self, given: Collection[str] = ()) -> dict[str, str]:
        """Those that are made anew for a lease, but for those that somebody gives himself: 192 bits each, as text."""
        return {
            name: secrets.token_urlsafe(_SECRET_BYTES) for name in self.table.secrets if name not in given
        }


def find_template(named: str, folder: Path) -> Template:
    """By its name, in `folder` or of the library; or by the path of a file, which ends in `.toml` or has a slash.

    Raises:
        TemplateUnknown. WorkloadInvalid: the file is no template.
    """
    if "/" in named or named.endswith(_SUFFIX):
        return _read(Path(named).expanduser(), own=True)
    own = folder / f"{named}{_SUFFIX}"
    if _NAME.fullmatch(named):
        if own.is_file():
            return _read(own, own=True)
        if named in (shipped := _shipped()):
            return _parsed(named, shipped[named], own=False)
    raise TemplateUnknown(named, tuple(sorted({*_shipped(), *_own(folder)})))


def all_templates(folder: Path) -> list[Template]:
    """All that are known by name, in their order. Raises WorkloadInvalid: a file in the folder is no template."""
    return [find_template(name, folder) for name in sorted({*_shipped(), *_own(folder)})]


def _shipped() -> dict[str, str]:
    """The texts of those that come with the library, by name."""
    parts = files("leasehold.workload").joinpath("templates").iterdir()
    return {
        part.name.removesuffix(_SUFFIX): part.read_text() for part in parts if part.name.endswith(_SUFFIX)
    }


def _own(folder: Path) -> set[str]:
    named = (
        (path.name.removesuffix(_SUFFIX) for path in folder.glob(f"*{_SUFFIX}")) if folder.is_dir() else ()
    )
    return {name for name in named if _NAME.fullmatch(name)}


def _read(path: Path, *, own: bool) -> Template:
    try:
        with path.open("rb") as file:
            raw = file.read(_MOST + 1)
        if len(raw) > _MOST:
            raise WorkloadInvalid((f"{path} is larger than {_MOST >> 10} KiB",))
        return _parsed(path.name.removesuffix(_SUFFIX), raw.decode(), own=own, place=str(path))
    except OSError as error:
        raise WorkloadInvalid((f"{path} cannot be read ({error.strerror})",)) from error
    except UnicodeDecodeError as error:
        raise WorkloadInvalid((f"{path} is no TOML ({error})",)) from error


def _parsed(name: str, text: str, *, own: bool, place: str = "") -> Template:
    where = place or name
    if _STEERING.search(text):
        raise WorkloadInvalid((f"{where} holds a character that would move a cursor",))
    try:
        content = tomllib.loads(text)
        table = TemplateTable.model_validate(content.pop("template", {}))
    except tomllib.TOMLDecodeError as error:
        raise WorkloadInvalid((f"{where} is no TOML ({error})",)) from error
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        told = " ".join([*map(str, problem["loc"]), problem["msg"]])
        raise WorkloadInvalid((f"{where}: [template] {told}",)) from None
    return Template(name, text, content, table, own)
