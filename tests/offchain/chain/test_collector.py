"""Leaving Python's collector alone, and giving it back as it was."""

import gc
from collections.abc import Iterator

import pytest

from leasehold.chain._collector import resting, seldom


@pytest.fixture(autouse=True)
def usual() -> Iterator[tuple[int, int, int]]:
    """The collector as these tests find it, and as whatever comes after them does."""
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield gc.get_threshold()
    gc.set_threshold(*before)


def test_the_collector_looks_seldom_until_the_last_of_several_has_ended(usual: tuple[int, int, int]) -> None:
    first, second = seldom(), seldom()
    first.__enter__()
    lazy = gc.get_threshold()
    second.__enter__()
    assert lazy[0] > 100 * usual[0]
    assert lazy[1:] == usual[1:]
    assert gc.get_threshold() == lazy
    first.__exit__(None, None, None)
    assert gc.get_threshold() == lazy, "one of them still reads"
    second.__exit__(None, None, None)
    assert gc.get_threshold() == usual


def test_it_comes_back_when_what_was_read_raises(usual: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="torn"), seldom():
        raise ValueError("torn")
    assert gc.get_threshold() == usual


@pytest.mark.parametrize("threshold", [0, 1 << 20])
def test_who_wants_it_off_or_lazier_still_has_it_so(threshold: int) -> None:
    gc.set_threshold(threshold, 10, 10)
    with seldom():
        assert gc.get_threshold()[0] == threshold
    assert gc.get_threshold()[0] == threshold


def test_it_is_off_while_it_rests_and_stays_off_for_who_turned_it_off() -> None:
    assert gc.isenabled()
    with resting():
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.disable()
    try:
        with resting():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
