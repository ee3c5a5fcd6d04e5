"""Which machines have an image, on which it runs, and how long the others take to fetch it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from leasehold.client import ImageListing
from leasehold.client._image_search import by_cold_start
from leasehold.images import ResolvedImage
from leasehold.market import (
    Contact,
    Hardware,
    Listing,
    cold_start,
    has_image,
    lists_image,
    platform_of,
    runs_on,
)
from leasehold.workload import load_workload

INDEX, AMD, CONFIG = ("sha256:" + letter * 64 for letter in "abc")
IMAGE = ResolvedImage(
    "x:1", f"x@{INDEX}", INDEX, frozenset((INDEX, AMD, CONFIG)), "linux/amd64", ("linux/amd64",), 10**9
)


def listing(
    *images: tuple[str, str], down: int | None = None, arch: str | None = None, number: int = 1
) -> Listing:
    contact = {
        "version": 1,
        "endpoints": [],
        "certificate": "",
        "age_recipient": "age1x",
        "images": [{"id": image, "name": name} for image, name in images],
        "measured": None if down is None else {"down": down},
    }
    hardware = {
        "version": 1,
        "gpus": [],
        "cpu": {"model": "x", "cores": 1},
        "memory_bytes": 1,
        "disk": {"bytes": 1, "quota": False},
        **({} if arch is None else {"architecture": arch}),
    }
    machine = cast(Any, SimpleNamespace(id=number))
    return Listing(
        machine, cast(Any, None), Hardware.model_validate(hardware), Contact.model_validate(contact)
    )


@pytest.mark.parametrize(
    ("image", "there"),
    [
        ((CONFIG, "x:1"), True),
        ((CONFIG, "another:name"), True),
        ((AMD, ""), True),
        (("sha256:" + "9" * 64, f"mirror/x@{INDEX}"), True),
        (("sha256:" + "9" * 64, "x:1"), False),
    ],
)
def test_an_image_is_known_by_its_content_and_not_by_its_name(image: tuple[str, str], there: bool) -> None:
    assert has_image(listing(image), IMAGE) is there
    assert cold_start(listing(image, down=8 * 10**8), IMAGE) == (0 if there else 10)


def test_who_has_not_said_how_fast_it_fetches_is_not_guessed() -> None:
    assert cold_start(listing(), IMAGE) is None
    assert cold_start(listing(down=0), IMAGE) is None
    assert cold_start(Listing(cast(Any, None), cast(Any, None)), IMAGE) is None


def test_for_which_processors_it_is_made() -> None:
    assert platform_of(listing()) == platform_of(listing(arch="amd64")) == "linux/amd64"
    assert platform_of(listing(arch="arm64")) == "linux/arm64"
    assert runs_on(listing(), IMAGE)
    assert not runs_on(listing(arch="arm64"), IMAGE)
    unsaid = ResolvedImage("x:1", f"x@{AMD}", AMD, frozenset((AMD,)), "linux/amd64", (), 1)
    assert runs_on(listing(arch="arm64"), unsaid)


def test_what_came_from_a_registry_may_not_be_had_by_its_id() -> None:
    """The agent gives by their ids only images that its owner has named."""
    workload = load_workload({"version": 1, "image": CONFIG})
    assert lists_image(listing((CONFIG, "x:1")), workload)
    assert not lists_image(listing((CONFIG, f"x@{INDEX}")), workload)


def test_those_that_have_it_come_first_and_those_of_which_nobody_knows_last() -> None:
    machines = [
        listing(number=1),
        listing(down=8 * 10**6, number=2),
        listing((CONFIG, ""), number=3),
        listing(down=8 * 10**9, number=4),
    ]
    rows = [ImageListing(machine, IMAGE) for machine in machines]
    assert [row.listing.id for row in by_cold_start(rows)] == [3, 4, 2, 1]
    assert [row.listing.id for row in by_cold_start(rows, last_first=True)] == [2, 4, 3, 1]
    assert [row.whole_seconds for row in by_cold_start(rows)] == [0, 1, 1_000, None]
