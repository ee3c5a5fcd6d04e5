"""What may be announced as a service, and what of an announced one our node may call."""

from __future__ import annotations

import pytest

from leasehold.market import DocumentInvalid, InvalidInput, ServiceDocument, parse_document, service_document

PEER = "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN"
NODE = "/dns4/node.example/tcp/4001"


def test_a_gateway() -> None:
    made = service_document("gateway", ("https://gateway.example/pool",), note="ours")
    assert parse_document(ServiceDocument, made.encoded, "It") == made
    assert made.dialled == ()


def test_a_node_is_called_by_its_name_alone() -> None:
    made = service_document("ipfs", (NODE, f"{NODE}/p2p/{PEER}"), peer_id=PEER)
    assert set(made.dialled) == {f"{NODE}/p2p/{PEER}"}


@pytest.mark.parametrize(
    ("kind", "endpoints", "peer", "note", "why"),
    [
        ("oracle", ("https://a",), None, "", "no service of the kind"),
        ("gateway", (), None, "", "one to 8 addresses"),
        ("gateway", ("https://a",) * 9, None, "", "one to 8 addresses"),
        ("gateway", ("http://gateway.example",), None, "", "is no address for it"),
        ("gateway", ("https://user:secret@gateway.example",), None, "", "is no address for it"),
        ("gateway", ("https://gateway.example\n",), None, "", "is no address for it"),
        ("ipfs", (NODE,), None, "", "found by its peer"),
        ("ipfs", (NODE,), "no peer", "", "is no peer"),
        ("ipfs", ("/unix/run/ipfs.sock",), PEER, "", "is no address for it"),
        ("seed", (f"/ip4/192.0.2.1/tcp/4001/p2p/{PEER}/p2p-circuit",), PEER, "", "is no address for it"),
        ("gateway", ("https://a",), None, "two\nlines", "one line"),
    ],
)
def test_what_is_not_announced(
    kind: str, endpoints: tuple[str, ...], peer: str | None, note: str, why: str
) -> None:
    with pytest.raises(InvalidInput, match=why):
        service_document(kind, endpoints, peer_id=peer, note=note)


@pytest.mark.parametrize(
    "raw",
    [
        b"{",
        b'{"version": 2, "kind": "ipfs"}',
        b'{"kind": "ipfs", "endpoints": ["a\\u001b[2J"]}',
        b'{"endpoints": []}',
    ],
)
def test_what_a_stranger_may_have_written(raw: bytes) -> None:
    with pytest.raises(DocumentInvalid):
        parse_document(ServiceDocument, raw, "It")


def test_a_stranger_s_node_makes_ours_call_nobody_else() -> None:
    document = ServiceDocument(
        kind="ipfs", peer_id=PEER, endpoints=(NODE, "/ip4/127.0.0.1/tcp/1/p2p/QmSomebodyElse")
    )
    assert document.dialled == (f"{NODE}/p2p/{PEER}",)
