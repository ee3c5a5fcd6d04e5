"""Makes tests/vectors/renting.json with the library: what a browser that rents must come to, to the byte and the unit.

    python tests/vectors/renting.py

`sealed` is sealed anew by each run, since age draws a key of its own; a run keeps the bytes that are there.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from eth_account import Account

from leasehold.chain import (
    Lease,
    LeaseState,
    LocalSigner,
    Machine,
    MachineStatus,
    Params,
    Terms,
    cid_of_digest,
    format_lease,
)
from leasehold.chain.typed import Domain, Request, SessionKey, VolumeKey
from leasehold.datasets import recipient_of
from leasehold.market import Funds, Wish, bill, extension_cost, quote
from leasehold.market.wire import encode_authorization, params_hash
from leasehold.workload import Workload, seal, volume_key

FILE: Final = Path(__file__).with_suffix(".json")
KEY: Final = (
    "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"  # Anvil's first account: public
)
ACCOUNT: Final = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
CONTROLLER: Final = "0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512"
DOMAIN: Final = Domain(31337, CONTROLLER)
IDENTITY: Final = "AGE-SECRET-KEY-1GQ9778VQXMMJVE8SK7J6VT8UJ4HDQAJUVSFCWCM02D8GEWQ72PVQ2Y5J33"  # of nobody
DIGEST: Final = bytes(range(32))
IMAGE: Final = "sha256:" + "ab" * 32
NOW: Final = 1_800_000_000

WORKLOADS: Final[list[dict[str, Any]]] = [
    {"image": IMAGE},
    {
        "image": IMAGE,
        "command": ["sh", "-c", 'echo "ü" \\ \u2028; sleep 5'],
        "cpu": 2,
        "egress": {"mode": "none"},
    },
    {
        "image": "quay.io/jupyter/pytorch-notebook@sha256:" + "0c" * 32,
        "kind": "container",
        "cpu": 0.5,
        "memory": 1 << 34,
        "env": {"B": "2", "A": "line\nbreak\u007f\u0001"},
        "secrets": {"token": "s\u00e9cret"},
        "ports": [{"container": 8888}, {"container": 53, "host": 30_053, "protocol": "udp"}],
        "outputs": [{"path": "/out", "public": True}],
        "readiness": {"http": {"port": 8888}, "timeout": 600},
        "volumes": [{"name": "notebooks", "path": "/home/jovyan/work", "key": "5c" * 32}],
        "ssh_keys": [],
        "name": "my notebook",
        "tenant": ACCOUNT,
        "restart": "on-failure",
    },
    {
        "image": IMAGE,
        "kind": "batch",
        "datasets": [
            {"cid": cid_of_digest(DIGEST), "path": "/data/digits", "key": IDENTITY},
            {"cid": cid_of_digest(DIGEST), "path": "/data/open"},
        ],
        "outputs": [{"path": "/out", "recipients": [recipient_of(IDENTITY)]}],
    },
]

TERMS: Final = Terms(2_400_000, 0, 60, 864_000, 300, 30_000)
MACHINE: Final = Machine(
    7, ACCOUNT, ACCOUNT, MachineStatus.VERIFIED, False, False, False, 2, 5, 3, 10**9, 0, 0, 0, 0, TERMS
)  # fmt: skip
PARAMS: Final = Params(10**6, 250, 1_000, 5_000, 600, 3_600, 7_200, 900, 600, 0, 0, 0, 0, 0, 0, 0, 0, 5)
LEASE: Final = Lease(
    12 << 16 | 1, ACCOUNT, 7, 0x10F, LeaseState.ACTIVE, False, False, NOW, NOW + 7_200, 2_400_001, 2_400_000, 5, 3,
    0, b"",
)  # fmt: skip
"""Half a GPU for two hours."""


def camel(document: Any) -> Any:
    """As TypeScript names it; amounts and what else has more than 53 bits are decimal texts."""
    if isinstance(document, dict):
        return {_camel(name): camel(value) for name, value in document.items()}
    if isinstance(document, bytes):
        return "0x" + document.hex()
    return document


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)


def workloads() -> list[dict[str, Any]]:
    made = [(fields, Workload.model_validate({"version": 1, **fields})) for fields in WORKLOADS]
    return [{"fields": fields, "canonical": workload.canonical().decode()} for fields, workload in made]


def quotes() -> list[dict[str, Any]]:
    wishes = [Wish(8, 3_600), Wish(1, 3_601), Wish(16, 86_400, allow_unverified=True), Wish(2, 60)]
    purses = [Funds(0, 10**9, 0), Funds(1_000_000, 10**9, 500_000), Funds(10**12, 0, 0)]
    return [
        {
            "wish": camel(asdict(wish)),
            "funds": camel(asdict(funds)),
            "quote": camel(asdict(quote(MACHINE, PARAMS, wish, funds))),
        }
        for wish in wishes
        for funds in purses
    ]


def bills() -> list[dict[str, Any]]:
    leases = [
        LEASE,
        replace(LEASE, state=LeaseState.OPENED),
        replace(LEASE, paused=100, segment_start=NOW + 1_000, segment_settled=7_777, settled=9_000),
        replace(LEASE, state=LeaseState.ENDED, settled=1_234_567),
    ]
    return [
        {
            "lease": camel(asdict(lease)),
            "now": now,
            "downSince": down,
            "bill": {name: value for name, value in asdict(bill(lease, now, PARAMS, down_since=down)).items()
                     if name in ("used", "unused", "left")},
            "extension": extension_cost(lease, 1_801),
        }
        for lease in leases
        for now, down in ((NOW + 1, 0), (NOW + 3_601, 0), (NOW + 9_000, 0), (NOW + 3_601, NOW + 1_500))
    ]  # fmt: skip


def authorization() -> dict[str, Any]:
    """A request as a session proves it. Both signatures are deterministic, so that the header is one text."""
    session_key = bytes.fromhex("11" * 32)
    key = asyncio.run(
        SessionKey.grant(
            ACCOUNT,
            DOMAIN,
            LocalSigner(KEY),
            private_key=session_key,
            ops=("lease.logs",),
            expires_at=NOW + 86_400,
        )
    )
    call = {"method": "GET", "path": "/v1/leases/12.1/logs", "query": "tail=100&follow=true"}
    request = Request(
        account=ACCOUNT, chain=31337, controller=CONTROLLER, machine=7, lease=12 << 16 | 1, op="lease.logs",
        params_hash=params_hash(*call.values(), bytes.fromhex(
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")),
        issued_at=NOW, expires_at=NOW + 120, nonce=b"\x5c" * 32,
    )  # fmt: skip
    return {
        "now": NOW,
        "machine": 7,
        "lease": str(12 << 16 | 1),
        "sessionKey": "0x" + session_key.hex(),
        "session": key.session.to_json(),
        "sessionProof": "0x" + key.session_proof.hex(),
        "call": call,
        "nonce": "0x" + "5c" * 32,
        "header": encode_authorization(request, key.prove(request, DOMAIN)),
    }


def volume() -> dict[str, str]:
    message = VolumeKey(ACCOUNT, DOMAIN.chain_id, DOMAIN.verifying_contract, "notebooks")
    signature = bytes(Account.sign_typed_data(KEY, full_message=dict(message.typed_data(DOMAIN))).signature)
    return {"name": "notebooks", "signature": "0x" + signature.hex(), "key": volume_key(signature)}


def document(sealed: str | None = None) -> dict[str, Any]:
    """The file's content. sealed: bytes in hex that were sealed before, to keep them."""
    first = Workload.model_validate({"version": 1, **WORKLOADS[2]})
    return {
        "key": KEY,
        "account": ACCOUNT,
        "chainId": DOMAIN.chain_id,
        "controller": CONTROLLER,
        "identity": IDENTITY,
        "recipient": recipient_of(IDENTITY),
        "workloads": workloads(),
        "sealed": sealed or seal(first, recipient_of(IDENTITY)).hex(),
        "machine": camel(asdict(MACHINE)),
        "params": camel(asdict(PARAMS)),
        "quotes": quotes(),
        "bills": bills(),
        "leases": [
            {"id": str(lease), "shown": format_lease(lease)}
            for lease in (12 << 16, 12 << 16 | 1, 1 << 16 | 0xFFFF)
        ],
        "cids": [{"digest": "0x" + DIGEST.hex(), "cid": cid_of_digest(DIGEST)}],
        "authorization": authorization(),
        "volume": volume(),
    }


def text(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=1, ensure_ascii=True, default=str) + "\n"


if __name__ == "__main__":
    kept = json.loads(FILE.read_text())["sealed"] if FILE.exists() else None
    FILE.write_text(text(document(kept)))
