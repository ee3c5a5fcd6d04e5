"""A table by itself: as CSV, as lines of one width, as a notebook draws it."""

from __future__ import annotations

import csv
import io

import pytest

from leasehold.market.wire import CheckpointStanding
from leasehold.tables import Table, checkpoints_table

TABLE = Table(("lease", ">price"), [("12 train", "2.5"), ('3 "a,b"', "10")])

CIDS = (
    "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy",
    "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku",
)


def test_as_comma_separated_values() -> None:
    assert TABLE.csv() == 'lease,price\n12 train,2.5\n"3 ""a,b""",10\n'
    assert Table(("day",), []).csv() == "day\n"


@pytest.mark.parametrize("text", ["=HYPERLINK(1)", "+1+1", "-1+1", "@SUM(A1)", "\t=1", " =1", "-5 USDC"])
def test_what_a_stranger_wrote_is_no_formula(text: str) -> None:
    """A token's name is its deployer's word, a card's model its host's."""
    assert list(csv.reader(io.StringIO(Table((f">{text}",), [(text,)]).csv()))) == [
        [f"'{text}"],
        [f"'{text}"],
    ]


@pytest.mark.parametrize("text", ["-5", "-0.25", "+3", "-", "", "2026-11-24", "a=b"])
def test_a_number_stays_one(text: str) -> None:
    assert list(csv.reader(io.StringIO(Table(("a", "b"), [(text, "1")]).csv())))[1] == [text, "1"]


def test_as_lines_of_one_width_numbers_to_the_right() -> None:
    assert TABLE.lines() == ["lease     price", "12 train    2.5", '3 "a,b"      10']
    assert TABLE.lines(1) == ["lease     price", "12 train    2.5"]
    assert Table(("lease", ">price"), []).lines() == ["lease  price"]


def test_what_a_stranger_wrote_is_text_in_a_notebook() -> None:
    drawn = Table(("model",), [("<script>",)])._repr_html_()
    assert "<td>&lt;script&gt;</td>" in drawn
    assert "<th>model</th>" in drawn


def test_what_is_kept_of_a_lease_the_newest_last() -> None:
    kept = [CheckpointStanding(cid=cid, at=0, why="interval", read=1_500_000) for cid in CIDS]
    assert checkpoints_table(kept).csv() == (
        "checkpoint,taken,why,read\n"
        f"{CIDS[0]},1970-01-01 00:00:00 UTC,interval,1.5 MB\n"
        f"{CIDS[1]},1970-01-01 00:00:00 UTC,interval,1.5 MB\n"
    )
