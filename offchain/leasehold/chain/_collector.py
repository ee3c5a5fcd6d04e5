"""Making many objects at once, without Python looking through all of them for cycles again and again.

The collector runs with every few hundred objects that live on. While thousands of logs are read, all of them do, and
none is in a cycle: it finds nothing, and takes a fifth of the time.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_SELDOM = 200_000
"""Objects that live on before the collector looks: more than three ranges of logs come to, some ten megabytes."""


@contextmanager
def resting() -> Iterator[None]:
    """Leaves the collector alone for some milliseconds of work that waits for nothing."""
    runs = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if runs:
            gc.enable()


class _Seldom:
    """How many want the collector to look less often, and how often it did before the first of them."""

    users = 0
    usual = gc.get_threshold()


@contextmanager
def seldom() -> Iterator[None]:
    """Lets the collector look less often, however long that lasts and whatever runs meanwhile. Others may want the
    same at the same time: what there was before comes back with the end of the last.
    """
    if not _Seldom.users:
        _Seldom.usual = first, *others = gc.get_threshold()
        gc.set_threshold(max(first, _SELDOM) if first else first, *others)
    _Seldom.users += 1
    try:
        yield
    finally:
        _Seldom.users -= 1
        if not _Seldom.users:
            gc.set_threshold(*_Seldom.usual)
