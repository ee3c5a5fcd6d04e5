"""The one way in which an error is defined, and the roots of the tree.

    @error_type(
        "key-exists",
        problem="There is already a wallet `{name}`",
        advice="choose another name.",
    )
    class KeyExists(WalletError):
        \"\"\"A wallet of that name is there already.\"\"\"

        name: str

The annotations are its data, and it is raised with them: `KeyExists("me")`. `code` is its name for programs and on the
wire, and stays what it is when the class is renamed. `problem` says what is wrong, `advice` what to do next, and
`str(error)` is both. Neither names a command or an option: whoever shows the error may give advice in its own terms,
chosen by the code and filled with the same data (`LeaseholdError.fill`). How data is written: `leasehold._wording`.

A root such as `WalletError` can be raised by itself, for what happens in one place and nobody tells apart:
`WalletError("The password is empty", "choose one.")`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import ClassVar, Self, TypeVar, cast, dataclass_transform

from leasehold._wording import Teller, Units, Wording

_Error = TypeVar("_Error", bound="LeaseholdError")


class LeaseholdError(Exception):
    """Anything Leasehold can raise. `str(error)` is one sentence that says what went wrong and what to do
    next.

    `exit_code` is what the command line exits with.
    """

    code: ClassVar[str] = "leasehold"
    exit_code: ClassVar[int] = 1
    problem_template: ClassVar[str] = "{said}"
    advice_template: ClassVar[str] = "{advised}"
    said: str = ""
    advised: str = ""
    _teller: Teller = Units()

    def __init__(self, problem: str = "", advice: str = "") -> None:
        super().__init__(*filter(None, (problem, advice)))
        self.said, self.advised = problem, advice

    @property
    def problem(self) -> str:
        """What is wrong, with the data."""
        return self.fill(self.problem_template).removesuffix(";")

    @property
    def advice(self) -> str:
        """What to do next; empty where nothing helps."""
        return self.fill(self.advice_template)

    def __str__(self) -> str:
        return sentence(self.fill(self.problem_template), self.fill(self.advice_template))

    def fill(self, template: str, say: "Callable[[LeaseholdError], str] | None" = None) -> str:
        """A template with this error's data. say: how an error that it holds is told; as `str` does, if not given."""
        return Wording(self._teller, cast(Callable[[Exception], str], say or str)).fill(template, self)

    def in_money(self, teller: Teller) -> Self:
        """This error, which says amounts as `teller` writes them: for who knows the pool's token."""
        self._teller = teller
        return self


def sentence(problem: str, advice: str) -> str:
    """Both in one sentence, with a colon between or the problem's own semicolon; or in two, where it ends as one."""
    if not advice:
        return problem
    return f"{problem} {advice}" if problem.endswith((".", ";", "?")) else f"{problem}: {advice}"


@dataclass_transform(eq_default=False)
def error_type(code: str, *, problem: str, advice: str = "") -> Callable[[type[_Error]], type[_Error]]:
    """Define an error: its annotations become its data, and the templates say them."""

    def define(kind: type[_Error]) -> type[_Error]:
        kind.code, kind.problem_template, kind.advice_template = code, problem, advice
        return dataclass(eq=False)(kind)

    return define


class ChainError(LeaseholdError):
    """The chain, a node, or a transaction."""

    code = "chain"
    exit_code: ClassVar[int] = 3


class ContractError(ChainError):
    """A contract refused. One subclass for each custom error, with the same name and the error's typed fields.

    A contract knows no decimals and no symbol: amounts are token units, in the fields and in the sentence.
    """

    code = "contract"
    exit_code: ClassVar[int] = 4
    signature: ClassVar[str] = ""

    def values(self) -> Iterator[tuple[str, object]]:
        """The error's arguments by name."""
        for field in fields(self):  # type: ignore[arg-type]  # every leaf is a dataclass
            yield field.name, getattr(self, field.name)
