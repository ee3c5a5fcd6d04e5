"""Every error of the library is defined in one way: it has data, a code that stays, and words that any face can use."""

import ast
import dataclasses
import importlib
import pkgutil
import re
import typing
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import leasehold
from leasehold.errors import LeaseholdError, sentence
from leasehold.market import wire
from syntax import nodes

pytestmark = pytest.mark.together("syntax")

PACKAGE = Path(leasehold.__file__).parent
FACES = ("leasehold.cli.",)


@cache
def library() -> list[str]:
    found = (module.name for module in pkgutil.walk_packages([str(PACKAGE)], "leasehold."))
    return [name for name in found if not name.startswith(FACES)]


def below(kind: type[LeaseholdError]) -> Iterator[type[LeaseholdError]]:
    for child in kind.__subclasses__():
        yield child
        yield from below(child)


for _name in library():
    importlib.import_module(_name)
ERRORS = sorted(
    {kind for kind in below(LeaseholdError) if kind.__module__ in library() and kind.__name__[0] != "_"},
    key=lambda kind: (kind.__module__, kind.__name__),
)
TYPED = [kind for kind in ERRORS if dataclasses.is_dataclass(kind)]


def test_the_library_is_looked_at_whole() -> None:
    assert len(ERRORS) > 220
    assert len(TYPED) > 180


def test_every_error_has_a_code_of_its_own() -> None:
    assert [kind.__name__ for kind in ERRORS if "code" not in vars(kind)] == []
    assert [kind.code for kind in ERRORS if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", kind.code)] == []
    assert [code for code, times in Counter(kind.code for kind in ERRORS).items() if times > 1] == []


SAMPLES = {
    int: 7,
    float: 7.5,
    str: "this",
    bytes: b"Abcd",
    object: None,
    int | None: 7,
    str | None: "this",
    tuple[str, ...]: ("one", "two"),
    LeaseholdError: LeaseholdError("Something else", "do that."),
}


def sample(kind: type[LeaseholdError]) -> LeaseholdError:
    if kind.__init__.__annotations__.keys() == {"field", "return"}:
        return kind("this")
    hints = typing.get_type_hints(kind)
    return kind(*(SAMPLES[hints[field.name]] for field in dataclasses.fields(kind)))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", TYPED, ids=lambda kind: kind.__name__)
def test_an_error_says_its_data_what_is_wrong_and_what_to_do(kind: type[LeaseholdError]) -> None:
    error = sample(kind)
    assert str(error) == sentence(error.fill(error.problem_template), error.advice)
    assert str(error).startswith(error.problem)
    assert error.problem
    assert error.problem[-1] not in ":,"
    assert not error.advice or error.advice.endswith(".")
    assert not set("{}") & set(str(error))
    assert kind.__doc__
    assert not kind.__doc__.startswith(f"{kind.__name__}("), "a docstring, not what dataclasses writes"


def test_data_of_strangers_is_no_template() -> None:
    assert str(LeaseholdError("{exit_code}", "{code}.")) == "{exit_code}: {code}."
    assert "{code}" in str(wire.NothingOpened(1, "It said {code}."))


@pytest.mark.parametrize(
    ("problem", "advice", "whole"),
    [
        ("It is so", "do that.", "It is so: do that."),
        ("It is so.", "Do that.", "It is so. Do that."),
        ("It is so;", "do that.", "It is so; do that."),
        ("It is so", "", "It is so"),
    ],
)
def test_both_make_one_sentence(problem: str, advice: str, whole: str) -> None:
    error = LeaseholdError(problem, advice)
    assert str(error) == whole
    assert (error.problem, error.advice) == (problem.rstrip(";"), advice)


# ------------------------------------------------------------------------------- faces name commands, nobody else


A_WORD_FOR_ANOTHER_PROGRAM = re.compile(r"--[a-z-]+")
NAMES_A_COMMAND = re.compile(r"(?<![\w-])--[a-z]|`leasehold(-agent)?[ `]")


def words(source: str) -> Iterator[tuple[int, str]]:
    """Every text of a module but its docstrings."""
    whole = nodes(source)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in whole
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in whole:
        if isinstance(node, ast.JoinedStr):
            parts = (part.value for part in node.values if isinstance(part, ast.Constant))
            yield node.lineno, "…".join(str(part) for part in parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.lineno, node.value


def test_no_sentence_of_the_library_names_a_command_or_an_option() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{line}: {text[:80]}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.relative_to(PACKAGE).parts[0] != "cli"
        for line, text in words(path.read_text())
        if NAMES_A_COMMAND.search(text) and not A_WORD_FOR_ANOTHER_PROGRAM.fullmatch(text)
    ]
    assert found == []


@pytest.mark.parametrize(
    "text", ["pass --approve.", "run `leasehold wallet new`", "`leasehold-agent describe`"]
)
def test_a_command_would_be_found(text: str) -> None:
    module = f'"""`leasehold rent` may stand here."""\nraise KeyError(f"{{one}} {text}")'
    assert [line for line, found in words(module) if NAMES_A_COMMAND.search(found)]
    assert not NAMES_A_COMMAND.search("`leasehold.chain`, a well-known thing, or a dash -- like that")


# --------------------------------------------------------------------------------------------------- drawn trees


BRANCH = re.compile(r"((?:│   |    )*)(?:├── |└── )(\w+)")
DRAWN = {
    "leasehold.errors": lambda kind: not kind.__module__.endswith("contract_errors"),
    "leasehold.market._errors": lambda kind: True,
    "leasehold.market._machine_errors": lambda kind: True,
    "leasehold.market._money_errors": lambda kind: True,
    "leasehold.market.wire._errors": lambda kind: True,
    "leasehold.agreements._errors": lambda kind: True,
    "leasehold.hardware._errors": lambda kind: True,
    "leasehold.home._errors": lambda kind: True,
    "leasehold.images._errors": lambda kind: True,
    "leasehold.client._errors": lambda kind: True,
    "leasehold.client._tenant_errors": lambda kind: True,
    "leasehold.client._validator_errors": lambda kind: True,
}


def drawn(text: str) -> set[tuple[str, str]]:
    """Every branch of the trees in a docstring, as parent and child."""
    branches: set[tuple[str, str]] = set()
    above, indent = [""], 0
    for line in text.splitlines():
        if branch := BRANCH.match(line[indent:]):
            above = above[: len(branch[1]) // 4 + 1]
            branches.add((above[-1], branch[2]))
            above.append(branch[2])
        elif root := re.match(r"( *)(\w+)", line):
            above, indent = [root[2]], len(root[1])
    return branches


@pytest.mark.parametrize("name", DRAWN)
def test_a_tree_is_drawn_as_it_is(name: str) -> None:
    module = importlib.import_module(name)
    here = {kind for kind in ERRORS if kind.__module__ == name and DRAWN[name](kind)}
    if name == "leasehold.errors":
        here |= {kind for kind in ERRORS if kind.__module__ == "leasehold._errors"}
    expected = {(parent(kind), kind.__name__) for kind in here}
    assert drawn(module.__doc__ or "") == expected


def parent(kind: type[LeaseholdError]) -> str:
    return next(base.__name__ for base in kind.__bases__ if issubclass(base, LeaseholdError))


# ------------------------------------------------------------------------------------------------- on the wire


# What an agent's problem documents say. A client of another version reads it: nothing here changes, or comes again
# with another meaning.
CODES = {
    "refused": (wire.AgentRefusal, 400),
    "unauthenticated": (wire.NotAuthorized, 401),
    "missing-authorization": (wire.MissingAuthorization, 401),
    "malformed-authorization": (wire.MalformedAuthorization, 401),
    "invalid-request-proof": (wire.InvalidRequestProof, 401),
    "request-expired": (wire.RequestExpired, 401),
    "request-too-early": (wire.RequestTooEarly, 401),
    "request-too-long": (wire.RequestTooLong, 401),
    "request-replayed": (wire.RequestReplayed, 401),
    "params-mismatch": (wire.ParamsMismatch, 401),
    "session-expired": (wire.SessionExpired, 401),
    "not-permitted": (wire.NotPermitted, 403),
    "wrong-audience": (wire.WrongAudience, 403),
    "wrong-operation": (wire.WrongOperation, 403),
    "session-scope": (wire.SessionScope, 403),
    "session-withdrawn": (wire.SessionWithdrawn, 401),
    "not-your-lease": (wire.NotYourLease, 403),
    "no-such-lease": (wire.UnknownLease, 404),
    "no-results": (wire.NoResults, 404),
    "not-running": (wire.NotRunning, 409),
    "body-too-large": (wire.BodyTooLarge, 413),
    "code-refused": (wire.CodeRefused, 422),
    "digest-mismatch": (wire.DigestMismatch, 422),
    "order-refused": (wire.OrderRefused, 422),
    "volume-busy": (wire.VolumeBusy, 409),
    "bad-call": (wire.BadCall, 400),
    "too-many-requests": (wire.TooManyRequests, 429),
    "chain-unreachable": (wire.ChainUnreachable, 503),
    "engine-unavailable": (wire.EngineUnavailable, 503),
    "store-full": (wire.StoreFull, 507),
}


def test_codes_on_the_wire_are_these() -> None:
    assert {code: (kind, kind.status) for code, kind in wire.REFUSALS.items()} == CODES
    for code, (kind, _) in CODES.items():
        assert type(wire.refusal(code, "No.")) is kind
