"""A browser of the tests: Debian's Chromium, a wallet that really signs, a real gateway before real parts."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    expect,
    sync_playwright,
)

from devnet.account import Account
from devnet.gateway import DAPP, gateway
from devnet.patience import patient
from devnet.site import Site
from devnet.world import World

from .looks import DESKTOP, looks, photograph
from .wallets import TestWallet

T = TypeVar("T")
FLAGS = (
    "--no-sandbox",
    "--headless=new",
    "--disable-gpu",
    "--hide-scrollbars",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--no-first-run",
)
LIMIT = 1_000.0 * patient(30)
"""Milliseconds: what a page is waited for that surely comes."""


_run = asyncio.run


def _run_beside(main: Coroutine[Any, Any, T], **options: Any) -> T:
    """`asyncio.run` in a thread of its own: as long as Playwright lives, its loop counts as running in this one."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(_run, main, **options).result()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One for each file: what comes after it in the same process may have a loop of its own again."""
    path = shutil.which("chromium")
    assert path is not None, "chromium is missing: make setup"
    expect.set_options(timeout=LIMIT)
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        patch.setattr(asyncio, "run", _run_beside)
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def gateway_url(world: World) -> Iterator[str]:
    """The address of a gateway of the world's pool."""
    with gateway(world) as url:
        yield url


class AppFiles(SimpleHTTPRequestHandler):
    """The app's files and nothing else, without a header that says what a page may do."""

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@pytest.fixture(scope="module")
def files() -> Iterator[str]:
    """The address at which the built app is served as by IPFS."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(AppFiles, directory=str(DAPP)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def renter(world: World) -> Account:
    """Somebody with gas money and tokens in the wallet, who has let nobody take any."""
    account = Account(world)
    world.fund(account.address, tokens=1_000)
    return account


@pytest.fixture
def wallet(world: World, renter: Account) -> TestWallet:
    return TestWallet(world.anvil, renter.key)


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    """A browser of somebody's own, without a wallet."""
    made = chromium.new_context(viewport=DESKTOP, reduced_motion="reduce")
    made.set_default_timeout(LIMIT)
    yield made
    made.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page that must break no rule of the gateway's security policy."""
    violations: list[str] = []

    def heard(message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text:
            violations.append(message.text)

    made = context.new_page()
    made.on("console", heard)
    yield made
    assert violations == []


@pytest.fixture
def with_wallet(page: Page, wallet: TestWallet) -> Page:
    wallet.install(page)
    return page


@pytest.fixture
def picture(page: Page, shown: Callable[[Page, str], None]) -> Callable[[str], None]:
    """`shown` of the page."""
    return lambda name: shown(page, name)


@pytest.fixture
def shown() -> Callable[[Page, str], None]:
    """Takes pictures of a page as documents show it, in all looks, where `LEASEHOLD_PICTURES` is set."""

    def taken(page: Page, name: str) -> None:
        if "LEASEHOLD_PICTURES" in os.environ:
            for look in looks(page):
                photograph(page, name, look)

    return taken


class Renting:
    """What a renter does in the pages, in their own words."""

    def __init__(self, page: Page, url: str, site: Site) -> None:
        self.page, self.url, self.site = page, url, site

    def go(self, path: str) -> None:
        self.page.goto(f"{self.url}/#{path}")

    def connect(self) -> None:
        self.page.get_by_role("button", name="Connect Test wallet").click()
        if "?gateway=" in self.url:  # which nobody has chosen but whoever made the link
            self.page.get_by_role("button", name="Use this pool").click()

    def fill(self, command: str, *, connected: bool = False) -> None:
        """The rent page, up to its one button. connected: the wallet is already."""
        self.go(f"/rent?machine={self.site.machine}&cells=8&seconds=3600")
        if not connected:
            self.connect()
        self.page.get_by_role("combobox", name="Image").fill(self.site.tiny)
        self.page.get_by_role("textbox", name="Command").fill(command)
        self.page.get_by_label("It may reach the internet").uncheck()
        self.page.get_by_label("Nobody has measured this machine").check()

    def rent(self) -> str:
        """Presses it; the lease."""
        self.page.get_by_role("button", name=re.compile("^Rent 1 .*unit for 1h")).click()
        self.page.wait_for_url(re.compile(r"#/leases/"))
        return self.page.url.rsplit("/", 1)[1].split("?")[0]


@pytest.fixture
def renting(with_wallet: Page, gateway_url: str, site: Site) -> Renting:
    return Renting(with_wallet, gateway_url, site)
