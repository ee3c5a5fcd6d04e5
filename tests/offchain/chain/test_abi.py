"""What is generated is what the compiler gives, and every error can speak."""

import dataclasses
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
from eth_abi.abi import encode
from eth_utils.crypto import keccak

from leasehold import errors
from leasehold._generated import contract_errors
from leasehold.chain import (
    AccountsContract,
    Committee,
    Deployment,
    Directory,
    FactoryContract,
    Faults,
    Lens,
    Pool,
    Reputation,
)
from leasehold.chain._abi import CONTRACTS, functions, snake
from leasehold.chain._contract import Contract
from leasehold.errors import ContractError, Panicked, Reverted, UnknownRevert, decode_revert
from leasehold.market import Money

ROOT = Path(__file__).resolve().parents[3]
LEAVES = [getattr(contract_errors, name) for name in contract_errors.__all__] + [Reverted, Panicked]


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("abi", ROOT / "scripts/abi.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_committed_files_are_what_the_compiler_gives(generator: ModuleType) -> None:
    for path, text in generator.render(ROOT).items():
        assert (ROOT / path).read_text() == text, f"{path} is out of date: run scripts/abi.py"


@pytest.fixture(scope="module")
def said(generator: ModuleType) -> tuple[dict[str, list[dict[str, object]]], dict[str, str]]:
    """The interfaces' ABIs, and the notices of their errors and events."""
    abis, notices = generator.compile_interfaces(ROOT)
    return abis, notices


def test_every_error_and_event_has_a_notice(
    generator: ModuleType, said: tuple[dict[str, list[dict[str, object]]], dict[str, str]]
) -> None:
    abis, notices = said
    for kind, least in (("error", 120), ("event", 75)):
        declared = {f"{kind} {generator.signature(entry)}" for entry in generator.entries(abis, kind)}
        assert len(declared) >= least
        assert declared <= set(notices)
        assert {name for name in notices if name.startswith(kind)} <= declared
    documented = re.compile(r"^ *///.*\n *(?:error|event) ", re.M)
    bare = re.compile(r"^ *(?:error|event) ", re.M)
    for path in (ROOT / "contracts/interfaces").glob("*.sol"):
        text = path.read_text()
        assert len(documented.findall(text)) == len(bare.findall(text)), f"{path.name}: each says what it is"


@pytest.mark.parametrize("silent", ["error PriceTooHigh(uint80,uint80)", "event GatedSet(bool)"])
def test_what_says_nothing_is_refused(
    generator: ModuleType,
    said: tuple[dict[str, list[dict[str, object]]], dict[str, str]],
    silent: str,
) -> None:
    abis, notices = said
    kind, _, signature = silent.partition(" ")
    render = generator.render_errors if kind == "error" else generator.render_events
    with pytest.raises(SystemExit, match=signature.partition("(")[0]):
        render(abis, {name: notice for name, notice in notices.items() if name != silent})


@pytest.mark.parametrize(
    ("notice", "refused"),
    [
        ("{price} is too much: pay less.", None),
        ("{price} is too much", "what to do next"),
        ("{prize} is too much: pay less.", "prize"),
    ],
)
def test_a_notice_is_a_sentence_of_its_own_arguments(
    generator: ModuleType, notice: str, refused: str | None
) -> None:
    entry = {"name": "TooMuch", "inputs": [{"name": "price", "type": "uint256"}]}
    if refused is None:
        assert generator.templates(entry, notice) == ("{price} is too much", "pay less.")
        return
    with pytest.raises(SystemExit, match=refused):
        generator.templates(entry, notice)


def test_a_sentence_stands_once(generator: ModuleType) -> None:
    one = {"errors": {"Refused()": [{"notice": "No: stop."}]}}
    other = {"errors": {"Refused()": [{"notice": "No: go away."}]}}
    assert generator.gather([one, one]) == {"error Refused()": "No: stop."}
    with pytest.raises(SystemExit, match="Refused"):
        generator.gather([one, other])


def sample(kind: str) -> object:
    return {
        "address": "0x" + "ab" * 20,
        "bytes4": b"Abcd",
        "bytes32": b"some-field".ljust(32, b"\0"),
        "string": "no",
    }.get(kind, 3)


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda leaf: leaf.__name__)
def test_every_error_comes_back_from_its_bytes_and_says_what_to_do(leaf: type[ContractError]) -> None:
    inner = leaf.signature[leaf.signature.index("(") + 1 : -1]
    kinds = inner.split(",") if inner else []
    data = keccak(text=leaf.signature)[:4] + encode(kinds, [sample(kind) for kind in kinds])
    error = decode_revert(data)
    assert type(error) is leaf
    assert len(dataclasses.fields(leaf)) == len(kinds)  # type: ignore[arg-type]  # every leaf is a dataclass
    sentence = str(error)
    assert "{" not in sentence
    assert sentence[-1] in ".:" or leaf is Reverted
    assert ":" in sentence, "it says what to do next"
    for field, kind in zip(dataclasses.fields(leaf), kinds, strict=True):  # type: ignore[arg-type]
        if kind == "address":
            assert getattr(error, field.name) == "0xABaBaBaBABabABabAbAbABAbABabababaBaBABaB"


def test_what_two_interfaces_declare_is_generated_once(generator: ModuleType) -> None:
    def error(argument: str, kind: str) -> dict[str, object]:
        return {"type": "error", "name": "Refused", "inputs": [{"name": argument, "type": kind}]}

    same = {"A": [error("actor", "address")], "B": [error("caller", "address")]}
    (found,) = generator.entries(same, "error")
    assert found["inputs"][0]["name"] == "actor", "the first names the arguments"
    with pytest.raises(SystemExit, match="Refused"):
        generator.entries({"A": [error("actor", "address")], "B": [error("at", "uint256")]}, "error")


def test_states_in_sentences_have_names() -> None:
    assert "is appealed," in str(errors.WrongFaultState(fault=1, state=3))
    assert "is drawn," in str(errors.WrongRoundState(round=1, state=2))
    assert "0x41626364" in str(errors.ScopeExceeded(selector=b"Abcd")), "a selector is no text"


AMOUNTS = {
    "CapExceeded": ("spent", "cap"),
    "ERC20InsufficientAllowance": ("allowance", "needed"),
    "ERC20InsufficientBalance": ("balance", "needed"),
    "InsufficientBalance": ("balance", "needed"),
    "NothingLeftFor": ("left", "needed"),
    "PriceTooHigh": ("price", "max_price"),
    "TokenTakesFee": ("received", "sent"),
}


def test_every_amount_is_known_as_one() -> None:
    """The others are seconds, ids and counts. Whoever adds an error decides which it is."""
    words = {name for names in AMOUNTS.values() for name in names}
    for leaf in LEAVES:
        named = {field.name for field in dataclasses.fields(leaf)} & words
        if leaf is not errors.TooFewSeats:  # `needed` seats
            assert named == set(AMOUNTS.get(leaf.__name__, ())), leaf.__name__
    assert not [
        leaf.__name__ for leaf in LEAVES if "token unit" in leaf.problem_template + leaf.advice_template
    ]


@pytest.mark.parametrize(("name", "amounts"), AMOUNTS.items())
def test_amounts_in_sentences_are_said_as_the_teller_says_money(name: str, amounts: tuple[str, ...]) -> None:
    leaf = getattr(errors, name)
    kinds = leaf.signature[leaf.signature.index("(") + 1 : -1].split(",")
    units = {field.name: 7 * 10**6 + at for at, field in enumerate(dataclasses.fields(leaf))}
    values = ["0x1" if kind == "address" else n for kind, n in zip(kinds, units.values(), strict=True)]
    error = leaf(*values)
    for each in amounts:
        assert f"{units[each]} token units" in str(error)
    told = str(error.in_money(Money("USDT", 6)))
    for each in amounts:
        assert Money("USDT", 6).show(units[each]) in told
    assert "token units" not in told


@pytest.mark.parametrize("data", [b"", b"\x01", b"\xde\xad\xbe\xef", bytes(100)])
def test_unknown_data_is_shown(data: bytes) -> None:
    error = decode_revert(data)
    assert isinstance(error, UnknownRevert)
    assert data.hex() in str(error)


def test_known_selector_with_broken_arguments() -> None:
    good = decode_revert(bytes.fromhex("08c379a0") + encode(["string"], ["why"]))
    assert isinstance(good, Reverted)
    assert "why" in str(good)
    assert isinstance(decode_revert(bytes.fromhex("08c379a0") + b"\xff" * 20), UnknownRevert)


def test_numbers_in_sentences_are_for_people() -> None:
    assert "lease 12.1 " in str(errors.WrongState(lease=12 << 16 | 1, state=3)).lower()
    assert "is ended" in str(errors.WrongState(lease=12 << 16, state=3))
    assert " 9," in str(errors.WrongState(lease=12 << 16, state=9)).replace("is 9", " 9")
    assert "1970-01-02 00:00:00 UTC" in str(errors.LeaseOver(lease=1 << 16, end=86_400))
    assert str(2**255) in str(errors.LeaseOver(lease=1 << 16, end=2**255))
    assert "`spot`" in str(errors.OfferMismatch(field=b"spot".ljust(32, b"\0")))
    assert "0xff" in str(errors.OfferMismatch(field=b"\xff" * 32))


def test_the_other_errors_speak_too() -> None:
    samples: list[errors.LeaseholdError] = [
        errors.WrongChain("chain 1", "chain 2"),
        errors.RpcUnavailable(("a: refused",)),
        errors.RpcError(-32000, "no", None, "eth_call"),
        errors.TransactionFailed("0x1"),
        errors.TransactionTimeout("0x1", 5),
        errors.GasFundsLow("0xa", 1, 2),
        errors.WrongPassword("me"),
        errors.KeyExists("me"),
        errors.KeyMissing("me"),
        errors.DatasetUnavailable("bafy"),
    ]
    for error in samples:
        assert ":" in str(error)
        assert error.exit_code > 1
    assert issubclass(errors.WrongPassword, errors.WalletError)


BINDINGS: list[type[Contract]] = [
    Pool,
    AccountsContract,
    FactoryContract,
    Committee,
    Faults,
    Reputation,
    Directory,
    Lens,
]


def test_every_contract_has_a_binding() -> None:
    assert {binding._abi for binding in BINDINGS} == set(CONTRACTS)


# What a pool's contracts ask and tell each other. Clients read more of it: `machine_of`, `lease_of`, `params`.
BETWEEN_CONTRACTS = {
    "Pool": {"stakeOf", "tenancyOf", "judging"},
    "Committee": {"witness", "credit", "disown", "overturn", "falseHardwareOf"},
    "FactoryContract": {"implementation"},
}


@pytest.mark.parametrize("binding", BINDINGS)
def test_the_bindings_cover_every_function(binding: type[Contract]) -> None:
    missing = {
        name
        for name in functions(binding._abi)
        if not hasattr(binding, snake(name)) and name != "eip712Domain"
    }
    assert missing == BETWEEN_CONTRACTS.get(binding.__name__, set())


def test_a_deployment_survives_its_file(tmp_path: Path) -> None:
    deployment = Deployment(1, "0x" + "ab" * 32, *(["0x" + "00" * 19 + "aa"] * 4), 5, "USD", 6)
    path = deployment.save(tmp_path / "new")
    assert path.name == "1.json"
    loaded = Deployment.load(path)
    assert loaded.controller.lower() == deployment.controller
    assert (loaded.chain_id, loaded.genesis, loaded.block) == (1, deployment.genesis, 5)


def test_a_lens_is_optional_and_checked(tmp_path: Path) -> None:
    deployment = Deployment(1, "0x" + "ab" * 32, *(["0x" + "00" * 19 + "aa"] * 4), 5, "USD", 6)
    assert Deployment.load(deployment.save(tmp_path)).lens is None
    assert "lens" not in (tmp_path / "1.json").read_text()
    with_lens = dataclasses.replace(deployment, lens="0x" + "00" * 19 + "bb")
    loaded = Deployment.load(with_lens.save(tmp_path))
    assert loaded.lens == "0x00000000000000000000000000000000000000bb"
    (tmp_path / "1.json").write_text((tmp_path / "1.json").read_text().replace("bb", "zz"))
    with pytest.raises(errors.SettingsError, match="`lens`"):
        Deployment.load(tmp_path / "1.json")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "There is no deployment file"),
        ("{", "cannot be read"),
        ("[]", "holds no object"),
        ('{"chain_id": "1"}', "lacks a valid `chain_id`"),
        (
            '{"chain_id":1,"genesis":"0x","factory":"x","accounts":"x","controller":"x","token":"x","block":1,'
            '"token_symbol":"T","token_decimals":18}',
            "`factory`",
        ),
    ],
)
def test_a_deployment_file_that_cannot_be(tmp_path: Path, text: str | None, says: str) -> None:
    path = tmp_path / "1.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(errors.SettingsError, match=says):
        Deployment.load(path)
