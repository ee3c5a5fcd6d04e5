"""What a card is called follows from what it says of itself; the page that says the rule has the table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.market import card_class
from leasehold.market._card_class import SOLD_WITH

PAGE = (Path(__file__).parents[3] / "docs/reference/hardware.md").read_text()
TABLE = re.findall(r"^\| ([^|`]+) \| (\d+) \| `([^`]+)` \|$", PAGE, re.MULTILINE)


def test_the_table_is_found() -> None:
    assert len(TABLE) > 20


@pytest.mark.parametrize(("model", "size", "wanted"), TABLE, ids=[row[2] for row in TABLE])
def test_a_card_of_the_table(model: str, size: str, wanted: str) -> None:
    assert card_class(model, int(size)) == wanted


def test_the_page_names_the_sizes() -> None:
    assert ", ".join(map(str, SOLD_WITH)) in PAGE


def test_ecc_makes_no_other_class() -> None:
    """It takes a sixteenth of the memory of such a card."""
    assert card_class("NVIDIA RTX A4000", 16_376 << 20) == card_class("NVIDIA RTX A4000", 15_352 << 20)


def test_a_card_without_a_name_has_a_class() -> None:
    assert card_class("Graphics", 9 << 40) == "gpu-9216g"


@given(st.text(max_size=256), st.integers(0, 2**63 - 1))
def test_whatever_a_stranger_writes_becomes_words(model: str, size: int) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", card_class(model, size))
