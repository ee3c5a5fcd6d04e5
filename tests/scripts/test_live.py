"""What `make demo-live` stands on: a port that is free, a gateway's words are read, keys are of whom they should be."""

from __future__ import annotations

import io
import re
import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from eth_account import Account

from devnet.crowd import Crowd
from devnet.gateway import port_or_another, write_down
from devnet.live import who_can_be_played
from devnet.world import World


def test_a_port_that_somebody_listens_at_is_replaced_by_a_free_one() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        other = port_or_another(port)
        assert other not in (0, port)
    assert port_or_another(port) == port


def test_what_a_gateway_says_lies_in_its_log(tmp_path: Path) -> None:
    log = tmp_path / "gateway.log"
    write_down(io.StringIO("one\ntwo\n"), log)
    assert log.read_text() == "one\ntwo\n"


def test_the_keys_that_are_printed_are_of_those_who_lease_and_provide() -> None:
    world = cast(World, cast(Any, SimpleNamespace()))
    crowd = Crowd(world)
    keys = re.findall(r"0x[0-9a-f]{64}", "\n".join(who_can_be_played(world)))
    assert [Account.from_key(key).address for key in keys] == [crowd.tenants[0], crowd.providers[0]]
