"""What the parts of a workload are made of: texts, sizes, and how what is wrong with one is said."""

import re
from decimal import Decimal
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

_UNITS: Final = {"": 1, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
_UNITS_DECIMAL: Final = {"kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}


class WorkloadPart(BaseModel):
    """A part of a workload: frozen, without unknown fields, and silent about what was in it when it is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


def refuse(problem: str) -> PydanticCustomError:
    """What pydantic is told of a value: a sentence that follows the field's name, and never holds the value."""
    return PydanticCustomError("workload", "{problem}", {"problem": problem})


def _size(value: object) -> object:
    """Bytes of `16GiB`, `500 MB` or a number."""
    if not isinstance(value, str):
        return value
    parts = re.fullmatch(r"([0-9]{1,20}(?:\.[0-9]{1,20})?)\s*([A-Za-z]*)", value.strip())
    factor = (_UNITS | _UNITS_DECIMAL).get(parts[2].lower()) if parts else None
    if parts is None or factor is None:
        raise refuse("is not a size such as 16GiB or a number of bytes")
    return int(Decimal(parts[1]) * factor)


def _text(value: str) -> str:
    if "\0" in value:
        raise refuse("may not hold a zero byte")
    return value


Bytes = Annotated[int, BeforeValidator(_size), Field(strict=True, ge=1, le=2**60)]
Text = Annotated[str, AfterValidator(_text)]
