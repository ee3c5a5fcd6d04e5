"""`leasehold.toml`: what a project's run is, beside its code; and the run that it makes with what is said besides.

project = Project(budget="5").over(load_project(Path()))
run = project.run(job_of(load_workload("train.toml")))
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

from leasehold.client import Rent
from leasehold.errors import LeaseholdError, SettingsError
from leasehold.files import write_whole
from leasehold.home import as_toml
from leasehold.market import InvalidInput, parse_duration, parse_share
from leasehold.runs._deciding import CloseWhen
from leasehold.runs._run import Run, run_named
from leasehold.workload import CodeFolder, Workload, load_workload

PROJECT_FILE: Final = "leasehold.toml"
_OUTPUTS: Final = "/outputs"


@dataclass(frozen=True)
class Project:
    """The file's keys, with `-` where a name has `_`; `None` is what nobody has said. workload: a table of the
    workload's fields, or a file. code: the folder that goes in; places are relative to the file. step: seconds that are
    paid for at a time. gpu: a model, which the search is narrowed to. close_when: `done`, `idle 10m` or `never`. The
    rest as in `Run` and `Rent`.
    """

    name: str | None = None
    workload: Mapping[str, object] | Path | None = None
    code: Path | None = None
    command: tuple[str, ...] | None = None
    search: str | None = None
    gpu: str | None = None
    share: int | None = None
    spot: bool | None = None
    recover: bool | None = None
    max_price: str | None = None
    allow_unverified: bool | None = None
    step: int | None = None
    at_most: int | None = None
    budget: str | None = None
    start_within: int | None = None
    gone_after: int | None = None
    close_when: str | None = None
    results: Path | None = None

    def over(self, written: Project) -> Project:
        """What is said here, and of the rest what is written there."""
        said = {
            name: value
            for name, value in vars(self).items()
            if value not in (None, "") and value is not False
        }
        return replace(written, **said)

    def run(
        self,
        workload: Workload,
        *,
        machines: tuple[int, ...] = (),
        detach: bool = False,
        approves: bool = False,
    ) -> Run:
        """The run that is meant; what nobody has said is as in `Run`. machines: these, or by default those that fit.

        Raises:
            InvalidInput: it makes no run, or none that can be. NotForARun.
        """
        name = self.name or run_named(workload, self.code)
        times = {word: getattr(self, word) for word in ("at_most", "start_within", "gone_after")}
        mode, idle = _closing(self.close_when or CloseWhen.DONE)
        rent = Rent(
            workload,
            seconds=3_600 if self.step is None else self.step,
            share=self.share,
            max_price=self.max_price,
            search=_narrowed(self.search, self.gpu),
            machines=machines,
            spot=bool(self.spot),
            allow_unverified=bool(self.allow_unverified),
            code=None if self.code is None else CodeFolder(self.code),
        )
        return Run(
            rent=rent,
            name=name,
            results=self.results or Path(f"results-{name}"),
            budget=self.budget,
            close_when=mode,
            idle=idle,
            detach=detach,
            approves=approves,
            recover=bool(self.recover),
            **{word: seconds for word, seconds in times.items() if seconds is not None},
        )


def begin_project(folder: Path, name: str | None, head: str = "") -> Path | None:
    """Write a file for a project of that name where there is none yet; where it is, `None` if nowhere. head: what
    stands above, as comments. Raises OSError.
    """
    path = folder / PROJECT_FILE
    if name is not None and not path.exists():
        write_whole(path, head + as_toml({"name": name}))
    return path if path.exists() else None


def project_name(folder: Path) -> str:
    """What a folder's run may be called: after the folder."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", folder.name).strip("-._")[:64] or "run"


def job_of(workload: Workload, *, recipient: str | None, public: bool = False) -> Workload:
    """The workload as a run's: a batch job that leaves what is in /outputs, where it says nothing else. recipient: of
    the age key that its results are sealed to. public: they are sealed to nobody.

    Raises:
        WorkloadInvalid.
    """
    said, more = workload.model_fields_set, dict[str, object]()
    if not said & {"kind", "restart"}:
        more["kind"] = "batch"
    if not workload.outputs and (recipient or public):
        more["outputs"] = [{"path": _OUTPUTS, "public": public}]
    whole = workload.model_dump(mode="json", exclude_unset=True, exclude_none=True) | more
    return load_workload(whole, recipients=[recipient] if recipient else ())


def _closing(text: str) -> tuple[CloseWhen, int]:
    """When the bill stops, and for how many seconds it may do nothing. Raises InvalidInput."""
    word, _, span = text.strip().replace(":", " ").partition(" ")
    if word not in list(CloseWhen) or (span and word != CloseWhen.IDLE):
        raise InvalidInput(f"'{text}' is no time to close", "say done, idle 10m or never.")
    return CloseWhen(word), parse_duration(span.strip()) if span else 600


def _narrowed(search: str | None, gpu: str | None) -> str:
    model = f'gpu:"{gpu}"' if gpu is not None and " " in gpu else f"gpu:{gpu}" if gpu is not None else None
    return " ".join(filter(None, (search, model)))


def load_project(folder: Path) -> Project:
    """What the file in that folder says; nothing where there is none.

    Raises:
        SettingsError: with the first key that is wrong, by name.
    """
    path = folder / PROJECT_FILE
    try:
        said = tomllib.loads(path.read_text())
    except FileNotFoundError:
        return Project()
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{path} cannot be read ({error})", "correct it.") from error
    read: dict[str, Any] = {_known(path, key): _read(path, key, value) for key, value in said.items()}
    return Project(**read)


def _known(path: Path, key: str) -> str:
    keys = {field.name.replace("_", "-"): field.name for field in fields(Project)}
    if key not in keys:
        near = difflib.get_close_matches(key, keys, 1)
        advice = f"did you mean `{near[0]}`?" if near else f"it may have {', '.join(keys)}."
        raise SettingsError(f"{path} has no key `{key}`", advice)
    return keys[key]


def _read(path: Path, key: str, value: object) -> object:
    try:
        return _READERS[key.replace("-", "_")](path.parent, value)
    except (TypeError, ValueError) as error:
        raise SettingsError(f"{path}: `{key}` is wrong", f"it should be {error}.") from error
    except LeaseholdError as error:
        raise SettingsError(f"{path}: `{key}` is wrong", str(error)) from error


def _text(folder: Path, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a text")
    return value


def _amount(folder: Path, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError("an amount, such as 2.5")
    return str(value)


def _flag(folder: Path, value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("true or false")
    return value


def _words(folder: Path, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise TypeError("a list of texts, a word of the command each")
    return tuple(value)


def _place(folder: Path, value: object) -> Path:
    return folder / Path(_text(folder, value)).expanduser()


def _seconds(folder: Path, value: object) -> int:
    return parse_duration(_text(folder, value)) if not isinstance(value, int) else value


def _share(folder: Path, value: object) -> int:
    return parse_share(str(value))


def _workload(folder: Path, value: object) -> object:
    return value if isinstance(value, dict) else _place(folder, value)


_READERS: Final[Mapping[str, Callable[[Path, object], Any]]] = {
    "name": _text,
    "workload": _workload,
    "code": _place,
    "command": _words,
    "search": _text,
    "gpu": _text,
    "share": _share,
    "spot": _flag,
    "recover": _flag,
    "max_price": _amount,
    "allow_unverified": _flag,
    "step": _seconds,
    "at_most": _seconds,
    "budget": _amount,
    "start_within": _seconds,
    "gone_after": _seconds,
    "close_when": _text,
    "results": _place,
}
