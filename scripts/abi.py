"""Writes what the SDK takes from the contracts' interfaces: the ABIs, one exception for each custom error,
one dataclass for each event. What they say is their `@notice` in Solidity. `--check` writes nothing and fails when a
committed file is out of date.

    python scripts/abi.py [--check]
"""

import argparse
import json
import keyword
import re
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from solidity import compiled

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path("offchain/leasehold")
INTERFACES = (
    "IController",
    "IAccounts",
    "IControllerFactory",
    "ICommittee",
    "IFaults",
    "IReputation",
    "IDirectory",
    "ILens",
)
Abi = list[dict[str, Any]]
Notices = dict[str, str]
"""What the interfaces say of an error or an event, by its kind and signature."""

# What the token and OpenZeppelin's libraries revert with on paths that a caller of ours can reach.
BORROWED = {
    "ERC20InsufficientBalance(address sender,uint256 balance,uint256 needed)": (
        "{sender} holds {balance:money} and {needed:money} are needed: get more of the token, then try again."
    ),
    "ERC20InsufficientAllowance(address spender,uint256 allowance,uint256 needed)": (
        "{spender} may take {allowance:money} from the wallet and {needed:money} are needed: let it take that first."
    ),
    "ERC2612ExpiredSignature(uint256 deadline)": "The permit expired {deadline:utc}: sign a new one.",
    "ERC2612InvalidSigner(address signer,address owner)": (
        "The permit is signed by {signer}, not by {owner}: sign it with the owner's key."
    ),
    "SafeERC20FailedOperation(address token)": (
        "The token {token} refused the transfer: check the wallet's balance and its approval of the pool."
    ),
    "SafeCastOverflowedUintDowncast(uint8 bits,uint256 value)": (
        "{value} does not fit into {bits} bits: use a smaller amount or duration."
    ),
    "ReentrancyGuardReentrantCall()": (
        "The pool was called from inside one of its own calls: send the calls one after another."
    ),
}
# What every error has besides its arguments.
TAKEN = {"args", "code", "problem", "advice", "said", "advised", "fill", "in_money", "signature", "values"}


def compile_interfaces(root: Path = ROOT) -> tuple[dict[str, Abi], Notices]:
    """The ABIs of the interfaces by the contract's name, and what they say of errors and events."""
    folder = root / "contracts/interfaces"
    sources = {
        f"contracts/interfaces/{path.name}": {"content": path.read_text()}
        for path in sorted(folder.glob("*.sol"))
    }
    settings = {"outputSelection": {"*": {"*": ["abi", "userdoc"]}}}
    output = compiled({"language": "Solidity", "sources": sources, "settings": settings}, root)
    interfaces = {
        name[1:]: output["contracts"][f"contracts/interfaces/{name}.sol"][name] for name in INTERFACES
    }
    return {name: one["abi"] for name, one in interfaces.items()}, gather(
        one["userdoc"] for one in interfaces.values()
    )


def gather(userdocs: Iterable[dict[str, Any]]) -> Notices:
    """The notices of every error and event. An error that several interfaces declare has one sentence, in one place."""
    notices: Notices = {}
    for userdoc in userdocs:
        said = {f"error {name}": said[0]["notice"] for name, said in userdoc.get("errors", {}).items()}
        said |= {f"event {name}": said["notice"] for name, said in userdoc.get("events", {}).items()}
        for name, notice in said.items():
            if notices.setdefault(name, notice) != notice:
                raise SystemExit(f"two interfaces say different things of {name}: let one of them say it")
    return notices


def snake(name: str) -> str:
    """`maxPrice` to `max_price`; a Python keyword gets an underscore behind it."""
    snaked = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()
    return snaked + "_" if keyword.iskeyword(snaked) else snaked


def canonical(item: dict[str, Any]) -> str:
    """The type as it stands in a signature: structs become tuples."""
    kind: str = item["type"]
    if not kind.startswith("tuple"):
        return kind
    return "(" + ",".join(canonical(c) for c in item["components"]) + ")" + kind[5:]


def is_enum(item: dict[str, Any]) -> bool:
    return str(item.get("internalType", "")).startswith("enum ")


def named_type(item: dict[str, Any]) -> str:
    """The struct or enum of an input, without what says that there are many."""
    return python_type(item).removeprefix("tuple[").removesuffix(", ...]")


IN_PYTHON = {"Signer": "SeatSigner"}
"""Structs whose name something else has in Python."""


def python_type(item: dict[str, Any]) -> str:
    kind: str = item["type"]
    if kind.endswith("[]"):
        one = {
            **item,
            "type": kind[:-2],
            "internalType": str(item.get("internalType", "")).removesuffix("[]"),
        }
        return f"tuple[{python_type(one)}, ...]"
    if kind == "tuple":
        name = str(item["internalType"]).removeprefix("struct ").split(".")[-1]
        return IN_PYTHON.get(name, name)
    if is_enum(item):
        return str(item["internalType"]).removeprefix("enum ").split(".")[-1]
    if kind.startswith(("uint", "int")):
        return "int"
    return {"address": "str", "bool": "bool", "string": "str"}.get(kind, "bytes")


def entries(abis: dict[str, Abi], kind: str) -> list[dict[str, Any]]:
    """Every error or event of the ABIs once, by signature, in the order of the interfaces.

    Several interfaces may declare the same one: the first of them names its arguments.
    """
    found: dict[str, dict[str, Any]] = {}
    for abi in abis.values():
        for e in abi:
            if e["type"] == kind:
                found.setdefault(signature(e), e)
    names = [e["name"] for e in found.values()]
    if len(set(names)) != len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise SystemExit(f"{kind}s that share a name and not a signature: {', '.join(twice)}")
    return list(found.values())


def signature(entry: dict[str, Any]) -> str:
    return f"{entry['name']}({','.join(canonical(i) for i in entry['inputs'])})"


def borrowed() -> tuple[list[dict[str, Any]], Notices]:
    errors, notices = [], {}
    for text, notice in BORROWED.items():
        name, inner = text.rstrip(")").split("(")
        inputs = [
            dict(zip(("type", "name"), part.split(" "), strict=True)) for part in inner.split(",") if part
        ]
        errors.append({"name": name, "inputs": inputs})
        notices[f"error {signature(errors[-1])}"] = notice
    return errors, notices


def templates(entry: dict[str, Any], notice: str) -> tuple[str, str]:
    """What is wrong, and what to do next: a notice says both, with a colon between. Placeholders become Python's."""
    names = {i["name"]: snake(i["name"]) for i in entry["inputs"]}
    strange = [name for name in re.findall(r"{(\w*)", notice) if name not in names]
    if strange or TAKEN & set(names.values()):
        raise SystemExit(
            f"the notice of {entry['name']} names {', '.join(strange)}, or an argument is called as what is"
        )
    problem, colon, advice = re.sub(r"{(\w+)", lambda m: "{" + names[m[1]], notice).partition(": ")
    if not colon:
        raise SystemExit(f"the notice of {entry['name']} does not say, after a colon, what to do next")
    return problem, advice


def kebab(name: str) -> str:
    """`PriceTooHigh` to `price-too-high`, `ERC20InsufficientBalance` to `erc20-insufficient-balance`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()


def check_said(entries: list[dict[str, Any]], kind: str, notices: Notices) -> None:
    silent = [e["name"] for e in entries if f"{kind} {signature(e)}" not in notices]
    if silent:
        raise SystemExit(f"give {', '.join(silent)} a @notice in contracts/interfaces first")


def render_errors(abis: dict[str, Abi], notices: Notices) -> str:
    taken, said = borrowed()
    errors, notices = sorted(entries(abis, "error") + taken, key=lambda e: str(e["name"])), notices | said
    check_said(errors, "error", notices)
    lines = [
        '"""The contracts\' custom errors. Made by scripts/abi.py: do not edit."""',
        "",
        "from typing import ClassVar",
        "",
        "from leasehold._errors import ContractError, error_type",
        "",
        "__all__ = [",
        *(f'    "{e["name"]}",' for e in errors),
        "]",
    ]
    for e in errors:
        shown = ", ".join(f"{canonical(i)} {i['name']}" for i in e["inputs"])
        problem, advice = templates(e, notices[f"error {signature(e)}"])
        lines += [
            "",
            "",
            "@error_type(",
            f'    "{kebab(e["name"])}",',
            f"    problem={quoted(problem)},",
            f"    advice={quoted(advice)},",
            ")",
            f"class {e['name']}(ContractError):",
            f'    """`{e["name"]}({shown})`."""',
            "",
            f'    signature: ClassVar[str] = "{signature(e)}"',
            *(f"    {snake(i['name'])}: {'int' if is_enum(i) else python_type(i)}" for i in e["inputs"]),
        ]
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def render_events(abis: dict[str, Abi], notices: Notices) -> str:
    events = entries(abis, "event")
    check_said(events, "event", notices)
    named = sorted(
        {named_type(i) for e in events for i in e["inputs"] if i["type"].startswith("tuple") or is_enum(i)}
    )
    lines = [
        '"""The contracts\' events. Made by scripts/abi.py: do not edit."""',
        "",
        "from dataclasses import dataclass",
        "",
        "from leasehold.chain._log import Event",
        f"from leasehold.chain._types import {', '.join(named)}",
        "",
        "__all__ = [",
        *(f'    "{name}",' for name in sorted(e["name"] for e in events)),
        "]",
    ]
    for e in events:
        shown = ", ".join(
            f"{python_type(i) if i['type'] == 'tuple' or is_enum(i) else i['type']} "
            f"{'indexed ' if i['indexed'] else ''}{i['name']}"
            for i in e["inputs"]
        )
        doc = textwrap.indent(docstring(notices[f"event {signature(e)}"], f"`{e['name']}({shown})`."), "    ")
        lines += [
            "",
            "",
            "@dataclass(frozen=True, slots=True)",
            f"class {e['name']}(Event):",
            doc,
            "",
            *(f"    {snake(i['name'])}: {python_type(i)}" for i in e["inputs"]),
        ]
    return "\n".join(lines) + "\n"


def docstring(notice: str, shown: str) -> str:
    said = textwrap.wrap(notice, 103)
    return "\n".join(['"""' + said[0], *said[1:], "", *textwrap.wrap(shown, 106), '"""'])


def render(root: Path = ROOT) -> dict[Path, str]:
    """What every generated file should hold, by its path below the repository's root."""
    abis, notices = compile_interfaces(root)
    files = {
        PACKAGE / f"chain/_generated/abi/{name}.json": json.dumps(abi, indent=1) for name, abi in abis.items()
    }
    files[PACKAGE / "_generated/contract_errors.py"] = render_errors(abis, notices)
    files[PACKAGE / "chain/_generated/events.py"] = render_events(abis, notices)
    return files


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is out of date")
    check = parser.parse_args().check
    files = render()
    stale = [p for p, text in files.items() if not (ROOT / p).exists() or (ROOT / p).read_text() != text]
    if check and stale:
        print("out of date, run scripts/abi.py:", *stale, sep="\n  ")
        return 1
    for path in stale:
        (ROOT / path).write_text(files[path])
        print("wrote", path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
