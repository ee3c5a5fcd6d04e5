"""How a page looks: pictures of it for the documents, whether it fits its window, what axe says of it."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from playwright.sync_api import Page, ViewportSize, expect

ROOT: Final = Path(__file__).resolve().parents[3]
IMAGES: Final = ROOT / "docs" / "images"
LOOKED_AT: Final = ROOT / "build" / "pictures"
"""Where pictures go that no document shows."""
SHOWN: Final = frozenset(
    (
        *("market", "market-cards", "prices", "compare", "machine", "rent", "leases", "lease", "logs"),
        *("terminal", "metrics", "closed", "data", "results", "group", "together", "provide", "manage"),
        *("provider", "pool", "validators", "gateway"),
    )
)
"""Pages whose pictures documents show. docs/guides/browser.md"""
AXE: Final = ROOT / "offchain/dapp/node_modules/axe-core/axe.min.js"
DESKTOP: Final[ViewportSize] = {"width": 1440, "height": 900}
PHONE: Final[ViewportSize] = {"width": 390, "height": 844}
MOST_HEIGHT: Final = 1_500
"""Pixels of a page that a picture has at most: what is below is more of the same."""
_QUALITY: Final = 70
_RULES: Final = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}


class Look(NamedTuple):
    """A window and a scheme in which a page is looked at. ending: of its picture's name."""

    size: ViewportSize
    scheme: Literal["light", "dark"]
    ending: str


LOOKS: Final = (
    Look(DESKTOP, "light", "light"),
    Look(DESKTOP, "dark", "dark"),
    Look(PHONE, "light", "light-phone"),
    Look(PHONE, "dark", "dark-phone"),
)


def looks(page: Page) -> Iterator[Look]:
    """The page in every look, one after the other; afterwards it is as it was."""
    former = page.viewport_size
    for look in LOOKS:
        page.emulate_media(color_scheme=look.scheme)
        page.set_viewport_size(look.size)
        settled(page)
        yield look
    if former is not None:
        page.set_viewport_size(former)
    page.emulate_media(color_scheme="light")


def settled(page: Page) -> None:
    """Waits until nothing is on its way to the page any more."""
    page.wait_for_load_state("networkidle")
    expect(page.locator("h1")).to_be_visible()
    expect(page.locator(".skeleton")).to_have_count(0)


def photograph(page: Page, name: str, look: Look) -> None:
    """A picture for the documents, where `LEASEHOLD_PICTURES` is set: what is committed stays as it is else."""
    if "LEASEHOLD_PICTURES" not in os.environ:
        return
    page.evaluate("document.activeElement?.blur(); scrollTo(0, 0)")
    page.mouse.move(0, 0)  # nothing is lit because the pointer was left there
    height = int(page.evaluate("document.documentElement.scrollHeight"))
    clip = {"x": 0, "y": 0, "width": look.size["width"], "height": min(height, MOST_HEIGHT), "scale": 1}
    session = page.context.new_cdp_session(page)
    wanted = {"format": "webp", "quality": _QUALITY, "captureBeyondViewport": True, "clip": clip}
    taken = session.send("Page.captureScreenshot", wanted)
    session.detach()
    folder = IMAGES if name in SHOWN else LOOKED_AT
    folder.mkdir(exist_ok=True)
    (folder / f"dapp-{name}-{look.ending}.webp").write_bytes(base64.b64decode(taken["data"]))


def spilled(page: Page) -> list[str]:
    """What reaches over the window's right edge, and cannot be scrolled to inside a box of its own. A chart follows the
    window some frames later.
    """
    page.evaluate(
        "new Promise((done) => { let n = 30; const f = () => (n-- ? requestAnimationFrame(f) : done()); f() })"
    )
    found: list[str] = page.evaluate(
        """() => {
          const wide = document.documentElement.clientWidth;
          if (document.documentElement.scrollWidth <= wide) return [];
          const scrolls = (element) => element !== document.documentElement && element !== document.body &&
            (["auto", "scroll", "hidden", "clip"].includes(getComputedStyle(element).overflowX) ||
              (element.parentElement !== null && scrolls(element.parentElement)));
          return [...document.querySelectorAll("body *")]
            .filter((element) => element.getBoundingClientRect().right > wide + 0.5 && !scrolls(element.parentElement))
            .map((element) => `${element.tagName}.${element.className}: ${element.textContent.slice(0, 40)}`);
        }"""
    )
    return found


def flaws(page: Page) -> list[str]:
    """What axe finds that is serious."""
    page.evaluate(AXE.read_text())
    said: dict[str, Any] = page.evaluate("(rules) => axe.run(document, rules)", _RULES)
    return [
        f"{flaw['id']}: {node['html'][:200]} {' '.join(node['failureSummary'].split())[:200]}"
        for flaw in said["violations"]
        if flaw["impact"] in ("serious", "critical")
        for node in flaw["nodes"]
    ]
