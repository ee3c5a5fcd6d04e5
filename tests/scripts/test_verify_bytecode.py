"""`make verify-bytecode` finds whatever is not what this checkout builds."""

from collections.abc import Callable
from pathlib import Path

import pytest
from web3 import HTTPProvider, Web3

import dapp_code
from devnet.anvil import Anvil
from devnet.contracts import deploy_fast
from leasehold.chain import Deployment
from verify_bytecode import Built, Mismatch, build, split_clone, verify

pytestmark = pytest.mark.slow

Codes = dict[str, bytes]


@pytest.fixture(scope="module")
def built() -> dict[str, Built]:
    return build()


@pytest.fixture(scope="module")
def deployed(
    built: dict[str, Built], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Deployment, dict[str, str], Codes]:
    """A fresh deployment, where each of its contracts is, and the code of each."""
    where: dict[str, str] = {}
    codes: Codes = {}
    with Anvil() as anvil:
        deployment = Deployment.load(deploy_fast(anvil.url, tmp_path_factory.mktemp("deployment")))
        chain = Web3(HTTPProvider(anvil.url))

        def code_at(address: str) -> bytes:
            codes[address] = bytes(chain.eth.get_code(Web3.to_checksum_address(address)))
            return codes[address]

        verify(deployment, built, code_at, lambda name, address: where.__setitem__(name, address))
    return deployment, where, codes


def refused(deployment: Deployment, built: dict[str, Built], codes: Codes) -> str:
    with pytest.raises(Mismatch) as caught:
        verify(deployment, built, codes.__getitem__, lambda name, address: None)
    return str(caught.value)


def test_a_browser_compares_with_what_is_built(built: dict[str, Built]) -> None:
    assert (dapp_code.ROOT / dapp_code.PATH).read_text() == dapp_code.code_file(built)


def test_finds_every_contract(deployed: tuple[Deployment, dict[str, str], Codes]) -> None:
    _, where, codes = deployed
    assert len(where) == 16
    assert set(where.values()) == set(codes)


def test_one_byte_of_any_contract(
    deployed: tuple[Deployment, dict[str, str], Codes], built: dict[str, Built]
) -> None:
    deployment, where, codes = deployed
    unseen = []
    for name, address in where.items():
        code = bytearray(codes[address])
        code[len(code) // 4] ^= 1
        try:
            verify(
                deployment, built, (codes | {address: bytes(code)}).__getitem__, lambda name, address: None
            )
        except Mismatch:
            continue
        unseen.append(name)
    assert unseen == []


def test_metadata_may_differ(
    deployed: tuple[Deployment, dict[str, str], Codes], built: dict[str, Built]
) -> None:
    deployment, where, codes = deployed
    address = where["Controller"]
    length = int.from_bytes(codes[address][-2:], "big") + 2
    other = codes[address][:-length] + b"another compiler's metadata" + (27).to_bytes(2, "big")
    verify(deployment, built, (codes | {address: other}).__getitem__, lambda name, address: None)


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("pool", lambda code: code[:10] + bytes(20) + code[30:]),  # a clone of something else
        ("the pool's Faults", lambda code: code[:-20] + bytes(20)),  # another pool's
        ("pool", lambda code: code + bytes(20)),  # one part more
        ("Accounts", lambda code: b""),  # nothing there
    ],
)
def test_parts_that_do_not_belong(
    deployed: tuple[Deployment, dict[str, str], Codes],
    built: dict[str, Built],
    name: str,
    spoil: Callable[[bytes], bytes],
) -> None:
    deployment, where, codes = deployed
    assert refused(deployment, built, codes | {where[name]: spoil(codes[where[name]])})


def test_an_address_in_the_code(
    deployed: tuple[Deployment, dict[str, str], Codes], built: dict[str, Built]
) -> None:
    """A Controller that believes another `Accounts` has the same code but for that address."""
    deployment, where, codes = deployed
    address = where["Controller"]
    other = codes[address].replace(bytes.fromhex(deployment.accounts[2:]), bytes(19) + b"\x07")
    assert "_accounts" in refused(deployment, built, codes | {address: other})


def test_code_that_is_no_clone() -> None:
    with pytest.raises(Mismatch, match="no clone"):
        split_clone("the pool", Path(__file__).read_bytes())
