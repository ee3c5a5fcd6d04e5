"""The settings as texts, from the one class that has them: those in force, the sample, the reference."""

from __future__ import annotations

import json
import os
import textwrap
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from leasehold_agent._config import AgentSettings
from leasehold_agent._config_file import settings_file

DEFAULT: Final = "default"
_WIDTH: Final = 110
_ABOUT = (
    "The settings of the Leasehold agent: all there are, each as it is until you say otherwise. Take the # away in "
    "front of what you change. Sizes are bytes, times are seconds.",
    "The agent reads one file: what $LEASEHOLD_AGENT_CONFIG names, else agent.toml in $LEASEHOLD_HOME (by default "
    "~/.config/leasehold), else /etc/leasehold/agent.toml. The unit and every command look in the same places; "
    "`leasehold-agent settings` shows what is in force and where it came from.",
    "A variable LEASEHOLD_AGENT_NAME, in capitals, is stronger than the file.",
)


@dataclass(frozen=True)
class Setting:
    """A setting in force. value: as TOML has it; empty where it is not set. origin: where it came from."""

    name: str
    value: str
    origin: str


def in_force(settings: AgentSettings) -> list[Setting]:
    """Every setting, with the variable or the file that says so, or DEFAULT."""
    file = settings_file()
    written = tomllib.loads(file.read_text(encoding="utf-8")) if file is not None else {}
    variables = {name.upper(): name for name in os.environ}
    shown = []
    for name, value in settings.model_dump(mode="json").items():
        origin = str(file) if name in written else DEFAULT
        origin = variables.get(variable(name), origin)
        shown.append(Setting(name, _toml(value), origin))
    return shown


def variable(name: str) -> str:
    """The setting's name in the environment."""
    return f"LEASEHOLD_AGENT_{name.upper()}"


def sample() -> str:
    """An `agent.toml` that says all there is to say, and changes nothing."""
    blocks = ["\n#\n".join(_comment(text) for text in _ABOUT)]
    for name, field in AgentSettings.model_fields.items():
        default = _default(field)
        unset = "" if default else " Not set; for example:"
        said = _comment(meaning(field) + unset)
        blocks.append(f"{said}\n#{name} = {default or _example(field)}".rstrip())
    return "\n\n".join(blocks) + "\n"


def reference() -> str:
    """The rows of the reference, as Markdown."""
    return "\n".join(_rows()) + "\n"


def _rows() -> Iterator[str]:
    yield from ("| setting | default | meaning |", "|---|---|---|")
    for name, field in AgentSettings.model_fields.items():
        default = _default(field)
        yield f"| `{name}` | {f'`{default}`' if default else ''} | {meaning(field).replace('|', chr(92) + '|')} |"


def meaning(field: FieldInfo) -> str:
    """What stands below the setting in the class, on one line; empty where nothing does."""
    return " ".join((field.description or "").split())


def _comment(text: str) -> str:
    lines = textwrap.wrap(text, _WIDTH, break_on_hyphens=False, break_long_words=False)
    return "\n".join(f"# {line}" for line in lines)


def _default(field: FieldInfo) -> str:
    plain = to_jsonable_python(field.get_default(call_default_factory=True, validated_data={}))
    return "" if plain in (None, "", []) else _toml(plain)


def _example(field: FieldInfo) -> str:
    return _toml(field.examples[0]) if field.examples else ""


def _toml(value: object) -> str:
    """JSON's texts, numbers, lists and truth values are TOML's too; its objects become tables on one line."""
    if isinstance(value, dict):
        pairs = (f"{key} = {_toml(inner)}" for key, inner in value.items() if inner is not None)
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return "" if value is None else json.dumps(value, ensure_ascii=False)
