"""The documents' pictures of the browser's app: each is shown, what is shown is there, and together they stay small."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs" / "images"
MOST = 3_900_000
"""Bytes of all of them together: a clone brings them along for ever."""
NAMED = re.compile(r"\]\((?:docs/|\.\./)images/(dapp-[\w.-]+)\)")


def test_every_picture_is_shown_and_every_shown_one_is_there() -> None:
    pages = (ROOT / "README.md", ROOT / "docs" / "guides" / "browser.md")
    shown = {name for page in pages for name in NAMED.findall(page.read_text())}
    assert shown == {path.name for path in IMAGES.glob("dapp-*")}


def test_the_pictures_together_stay_small() -> None:
    assert sum(path.stat().st_size for path in IMAGES.glob("dapp-*")) < MOST
