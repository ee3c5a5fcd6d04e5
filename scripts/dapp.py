"""Writes what the dApp takes from the library, so that both say the same: the ABI it encodes with, contracts' errors
in words, the templates, and what an agent and its callers agree on. `--check` writes nothing and fails when a file is
out of date.

    python scripts/dapp.py [--check]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Set
from pathlib import Path
from typing import Any, Final

from abi import borrowed, snake
from leasehold._errors import ContractError
from leasehold._generated import contract_errors
from leasehold.market.wire import (
    EXEC_PROTOCOL,
    LOG_OFFSET,
    MAX_FRAME,
    MAX_REQUEST_LIFETIME,
    MAX_UPLOAD,
)
from leasehold.workload import Template, Workload, all_templates

ROOT: Final = Path(__file__).resolve().parents[1]
ABI: Final = Path("offchain/leasehold/chain/_generated/abi")
DAPP: Final = Path("offchain/dapp/src")
HEAD: Final = "// Made by scripts/dapp.py: do not edit.\n"

FUNCTIONS: Final = {
    "accounts", "addStake", "balanceOf", "cancelUnstarted", "claim", "close", "companions", "delist", "deposit",
    "depositWithPermit", "extend", "gated", "leaseOf", "machineCount", "machineOf", "multicall", "open", "owner",
    "params", "paramsVersion", "paused", "proposedParams", "reject", "relist", "retire", "setTerms", "token",
    "transfer", "treasury", "unstake", "withdraw",
}  # fmt: skip
"""What the pages read and send of the pool. A browser loads no ABI that it never encodes with."""
EVENTS: Final = {
    "ContactSet", "LeaseCancelled", "LeaseClosed", "LeaseDeclined", "LeaseExtended", "LeaseOpened", "LeaseRejected",
    "LeaseStarted", "LeaseTerminated", "LeaseTransferred", "ResultPublished",
}  # fmt: skip
FAULT_FUNCTIONS: Final = {"appeal", "faultOf"}
"""Of the pool's judge of outages."""

OF_ACCOUNTS: Final = {"Executed", "deployGroup", "execute", "groupAddress", "isAuthorized", "nonceOf"}
"""What the groups' pages ask of `Accounts`."""
PROPOSABLE: Final = ("Controller", "Accounts", "Committee", "Faults", "Reputation", "Directory")
"""Whose calls a group can be asked to sign."""

Entry = dict[str, Any]


def chosen(abi: Iterable[Entry], functions: Set[str], events: Set[str] = frozenset()) -> list[Entry]:
    """Of an ABI what the browser uses: some functions and events, and every error."""
    wanted = {"function": functions, "event": events}
    return [
        plain(entry)
        for entry in abi
        if entry["type"] == "error" or entry["name"] in wanted.get(entry["type"], ())
    ]


def plain(entry: Any) -> Any:
    """Without what only a compiler reads."""
    if isinstance(entry, dict):
        return {key: plain(value) for key, value in entry.items() if key != "internalType"}
    return [plain(item) for item in entry] if isinstance(entry, list) else entry


def typescript(name: str, value: object, *, constant: bool = True) -> str:
    """A constant of that name; TypeScript knows its literal type."""
    text = json.dumps(value, indent=1, ensure_ascii=False)
    return f"export const {name} = {text}{' as const' if constant else ''};\n"


def abi_of(root: Path, contract: str) -> list[Entry]:
    abi: list[Entry] = json.loads((root / ABI / f"{contract}.json").read_text())
    return abi


def pool_abi(root: Path) -> list[Entry]:
    """What the pool can be asked, says and refuses with; among it the refusals of `Accounts`, by which it is called, of
    the token and of OpenZeppelin.
    """
    abi = chosen(abi_of(root, "Controller"), FUNCTIONS, EVENTS)
    known = {entry["name"] for entry in abi if entry["type"] == "error"}
    for error in [*abi_of(root, "Accounts"), *({"type": "error", **error} for error in borrowed()[0])]:
        if error["type"] == "error" and error["name"] not in known:
            known.add(error["name"])
            abi.append(plain(error))
    return abi


def accounts_file(root: Path) -> str:
    abi = [plain(entry) for entry in abi_of(root, "Accounts") if entry.get("name") in OF_ACCOUNTS]
    return HEAD + typescript("accountsAbi", abi)


def proposable_file(root: Path) -> str:
    """Every call that changes something, by contract: what is none of these, no page has anybody sign."""
    calls = {
        contract: [
            plain(entry)
            for entry in abi_of(root, contract)
            if entry["type"] == "function" and entry["stateMutability"] not in ("view", "pure")
        ]
        for contract in PROPOSABLE
    }
    typed = "Readonly<Record<string, Abi>>"
    text = json.dumps(calls, ensure_ascii=False)
    return f'{HEAD}import type {{ Abi }} from "viem";\n\nexport const proposable = {text} as {typed};\n'


def faults_abi(root: Path) -> list[Entry]:
    """What the pool's judge of outages can be asked, and refuses with."""
    return chosen(abi_of(root, "Faults"), FAULT_FUNCTIONS)


def abi_file(root: Path) -> str:
    return (
        HEAD + typescript("controllerAbi", pool_abi(root)) + "\n" + typescript("faultsAbi", faults_abi(root))
    )


def errors_file(root: Path) -> str:
    """Each of these errors by its name: its code, both halves of its sentence, and what they call its arguments."""
    said = {}
    for entry in [*pool_abi(root), *faults_abi(root)]:
        if entry["type"] == "error":
            kind: type[ContractError] = getattr(contract_errors, entry["name"])
            fields = [snake(argument["name"]) for argument in entry["inputs"]]
            said[entry["name"]] = {
                "code": kind.code,
                "problem": kind.problem_template,
                "advice": kind.advice_template,
                "fields": fields,
            }
    return HEAD + typescript("contractErrors", said, constant=False)


def template_entry(template: Template) -> Mapping[str, object]:
    """A template as the browser fills it in: sizes are bytes, times seconds, what is left out is left out."""
    content = dict(template.content)
    workload = Workload.model_validate({"version": 1, "image": "placeholder:1", **content})
    fields = json.loads(workload.model_dump_json(exclude_none=True, exclude_defaults=True))
    fields.pop("version", None)
    if not template.image:
        fields.pop("image", None)
    return {
        "name": template.name,
        "summary": template.table.summary,
        "secrets": list(template.table.secrets),
        "needs_command": template.table.needs_command,
        "use": list(template.table.use),
        "workload": fields,
    }


def templates_file() -> str:
    shipped = [template_entry(template) for template in all_templates(ROOT / "build" / "no-templates")]
    return HEAD + typescript("shippedTemplates", shipped)


def wire_file() -> str:
    """What the agent's API and its callers must agree on."""
    constants = {
        "EXEC_PROTOCOL": EXEC_PROTOCOL,
        "LOG_OFFSET": LOG_OFFSET,
        "MAX_FRAME": MAX_FRAME,
        "MAX_REQUEST_LIFETIME": MAX_REQUEST_LIFETIME,
        "MAX_UPLOAD": MAX_UPLOAD,
    }
    return HEAD + "".join(typescript(name, value) for name, value in constants.items())


def render(root: Path = ROOT) -> dict[Path, str]:
    """What every generated file should hold, by its path below the repository's root."""
    return {
        DAPP / "chain/generated/abi.ts": abi_file(root),
        DAPP / "chain/generated/errors.ts": errors_file(root),
        DAPP / "groups/generated/accounts.ts": accounts_file(root),
        DAPP / "groups/generated/proposable.ts": proposable_file(root),
        DAPP / "sealing/generated/templates.ts": templates_file(),
        DAPP / "agent/generated/wire.ts": wire_file(),
    }


def stale(files: Mapping[Path, str], root: Path = ROOT) -> list[Path]:
    """Those that are not there, or say something else."""
    return [
        path
        for path, text in files.items()
        if not (root / path).exists() or (root / path).read_text() != text
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is out of date")
    check = parser.parse_args().check
    files = render()
    late = stale(files)
    if check and late:
        print("out of date, run scripts/dapp.py:", *late, sep="\n  ")
        return 1
    for path in late:
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(files[path])
        print("wrote", path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
