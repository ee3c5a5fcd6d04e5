"""Bars, as text and as a picture."""

from __future__ import annotations

from xml.etree import ElementTree

from leasehold.tables import BAR_WIDTH, bars, svg


def test_bars_are_as_long_as_their_values() -> None:
    assert [len(bar) for bar in bars([100, 50, 1, 0])] == [BAR_WIDTH, BAR_WIDTH // 2, 1, 0]
    assert bars([]) == []
    assert bars([0, 0]) == ["", ""]
    assert len(bars([10**30, 1])[1]) == 1


def test_a_bar_is_made_of_what_a_face_can_draw() -> None:
    assert bars([1], "#") == ["#" * BAR_WIDTH]


def test_a_picture_is_well_formed_whatever_things_are_called() -> None:
    drawn = ElementTree.fromstring(svg('a <b> & "c"', [("x<y", 10, "10"), ("none", 0, "0")]))
    rects = [float(part.get("width", "")) for part in drawn.iter("{http://www.w3.org/2000/svg}rect")]
    assert rects == [480.0, 0.0]
    assert svg("nothing", []).startswith("<svg")
