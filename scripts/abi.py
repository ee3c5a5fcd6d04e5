"""Writes what the SDK takes from the contracts' interfaces: the ABIs, one exception for each custom error,
one dataclass for each event. `--check` writes nothing and fails when a committed file is out of date.

    python scripts/abi.py [--check]
"""

import argparse
import json
import keyword
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

from leasehold._sentences import SENTENCES

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

# What the token and OpenZeppelin's libraries revert with on paths that a caller of ours can reach.
BORROWED = (
    "ERC20InsufficientBalance(address sender,uint256 balance,uint256 needed)",
    "ERC20InsufficientAllowance(address spender,uint256 allowance,uint256 needed)",
    "ERC2612ExpiredSignature(uint256 deadline)",
    "ERC2612InvalidSigner(address signer,address owner)",
    "SafeERC20FailedOperation(address token)",
    "SafeCastOverflowedUintDowncast(uint8 bits,uint256 value)",
    "ReentrancyGuardReentrantCall()",
)


def compile_abis(root: Path = ROOT) -> dict[str, Abi]:
    """The ABIs of the interfaces by the contract's name, from the compiler."""
    folder = root / "contracts/interfaces"
    sources = {
        f"contracts/interfaces/{path.name}": {"content": path.read_text()}
        for path in sorted(folder.glob("*.sol"))
    }
    settings = {"outputSelection": {"*": {"*": ["abi"]}}}
    job = json.dumps({"language": "Solidity", "sources": sources, "settings": settings})
    run = subprocess.run(
        [str(root / "scripts/toolchain/solc.mjs"), "--standard-json"],
        input=job,
        capture_output=True,
        text=True,
        cwd=root,
        check=True,
    )
    output = json.loads(run.stdout)
    errors = [e["formattedMessage"] for e in output.get("errors", []) if e["severity"] == "error"]
    if errors:
        raise SystemExit("\n".join(errors))
    contracts = output["contracts"]
    return {name[1:]: contracts[f"contracts/interfaces/{name}.sol"][name]["abi"] for name in INTERFACES}


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
        return str(item["internalType"]).removeprefix("struct ").split(".")[-1]
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
                signature = f"{e['name']}({','.join(canonical(i) for i in e['inputs'])})"
                found.setdefault(signature, e)
    names = [e["name"] for e in found.values()]
    if len(set(names)) != len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise SystemExit(f"{kind}s that share a name and not a signature: {', '.join(twice)}")
    return list(found.values())


def borrowed() -> list[dict[str, Any]]:
    errors = []
    for text in BORROWED:
        name, inner = text.rstrip(")").split("(")
        inputs = [
            dict(zip(("type", "name"), part.split(" "), strict=True)) for part in inner.split(",") if part
        ]
        errors.append({"name": name, "inputs": inputs})
    return errors


def render_errors(abis: dict[str, Abi]) -> str:
    errors = sorted(entries(abis, "error") + borrowed(), key=lambda e: str(e["name"]))
    silent = [e["name"] for e in errors if e["name"] not in SENTENCES]
    if silent:
        raise SystemExit(f"write a sentence for {', '.join(silent)} in {PACKAGE / '_sentences.py'} first")
    lines = [
        '"""The contracts\' custom errors. Made by scripts/abi.py: do not edit."""',
        "",
        "from dataclasses import dataclass",
        "from typing import ClassVar",
        "",
        "from leasehold._errors import ContractError",
        "",
        "__all__ = [",
        *(f'    "{e["name"]}",' for e in errors),
        "]",
    ]
    for e in errors:
        shown = ", ".join(f"{canonical(i)} {i['name']}" for i in e["inputs"])
        lines += [
            "",
            "",
            "@dataclass(eq=False)",
            f"class {e['name']}(ContractError):",
            f'    """`{e["name"]}({shown})`."""',
            "",
            f'    signature: ClassVar[str] = "{e["name"]}({",".join(canonical(i) for i in e["inputs"])})"',
            *(f"    {snake(i['name'])}: {'int' if is_enum(i) else python_type(i)}" for i in e["inputs"]),
        ]
    return "\n".join(lines) + "\n"


def render_events(abis: dict[str, Abi]) -> str:
    events = entries(abis, "event")
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
        doc = "\n".join(textwrap.wrap(f'"""`{e["name"]}({shown})`."""', 106, subsequent_indent=""))
        doc = textwrap.indent(doc, "    ")
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


def render(root: Path = ROOT) -> dict[Path, str]:
    """What every generated file should hold, by its path below the repository's root."""
    abis = compile_abis(root)
    files = {
        PACKAGE / f"chain/_generated/abi/{name}.json": json.dumps(abi, indent=1) for name, abi in abis.items()
    }
    files[PACKAGE / "_generated/contract_errors.py"] = render_errors(abis)
    files[PACKAGE / "chain/_generated/events.py"] = render_events(abis)
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
