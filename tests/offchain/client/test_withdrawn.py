"""A session of one's own that somebody has withdrawn, and what is asked with next."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from leasehold.chain import LocalSigner
from leasehold.chain.typed import Domain, SessionKey
from leasehold.client import PoolClient
from leasehold.client import _client as client_module
from leasehold.home import Home
from leasehold.market.wire import NotRunning, SessionWithdrawn

if TYPE_CHECKING:
    from leasehold.market import Contact

DOMAIN, WALLET = Domain(31_337, "0x" + "22" * 20), LocalSigner(b"\1" * 32)


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PoolClient:
    def agent(_contact: Any, _domain: Any, _machine: Any, _operator: Any, key: SessionKey, **_: Any) -> Any:
        return nullcontext(key)

    monkeypatch.setattr(client_module, "AgentClient", agent)
    monkeypatch.setattr(client_module, "agent_tunnel", lambda *_: None)
    made = SimpleNamespace(
        account=WALLET.address,
        other=None,
        group=None,
        wallet=WALLET,
        domain=DOMAIN,
        home=Home(tmp_path),
        ipfs=None,
    )
    return cast("PoolClient", made)


async def asked(client: PoolClient, error: Exception | None = None, shared: SessionKey | None = None) -> Any:
    """The key that an agent was asked with, which answers so."""
    async with PoolClient.agent(client, 1, WALLET.address, cast("Contact", None), shared=shared) as key:
        if error is not None:
            raise error
        return key


async def test_whoever_holds_another_keeps_its_account_from_nothing(client: PoolClient) -> None:
    """He withdraws the one that is kept here, so that his is not: the wallet signs a new one."""
    first = await asked(client)
    with pytest.raises(NotRunning):
        await asked(client, NotRunning("It does not run."))
    assert (await asked(client)).session.key == first.session.key
    with pytest.raises(SessionWithdrawn):
        await asked(client, SessionWithdrawn("Ask for another."))
    assert (await asked(client)).session.key != first.session.key


async def test_one_that_was_shared_says_nothing_of_ones_own(client: PoolClient) -> None:
    first = await asked(client)
    with pytest.raises(SessionWithdrawn):
        await asked(client, SessionWithdrawn("Ask for another."), shared=first)
    assert (await asked(client)).session.key == first.session.key
