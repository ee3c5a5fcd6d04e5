"""Data into a lease and out of it by a browser alone: dropped, sealed, mounted, computed on, opened. All is real."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from playwright.sync_api import FilePayload, Route, expect

from leasehold.chain import Rated, ResultPublished

from .conftest import Renting
from .looks import PHONE
from .wallets import TestWallet

pytestmark = pytest.mark.slow

SECRET = b"nobody but the machine reads this\n"
COMMAND = "mkdir -p /out/deep && sort /data/words.txt > /out/sorted.txt && cat /data/large.bin > /out/deep/large.bin"


def files() -> list[FilePayload]:
    large = Random(13).randbytes(3 * 2**20 + 5)
    return [
        {"name": "words.txt", "mimeType": "text/plain", "buffer": b"pear\napple\n" + SECRET},
        {"name": "large.bin", "mimeType": "application/octet-stream", "buffer": large},
    ]


def saved(renting: Renting, button: str, folder: Path) -> bytes:
    with renting.page.expect_download() as coming:
        renting.page.get_by_role("button", name=button).click()
    coming.value.save_as(folder / "saved")
    return (folder / "saved").read_bytes()


def test_a_dropped_file_is_sealed_computed_on_and_its_result_opened(
    renting: Renting, wallet: TestWallet, tmp_path: Path, picture: Callable[[str], None]
) -> None:
    page, site, sent = renting.page, renting.site, list[bytes]()
    page.on("request", lambda request: sent.append(request.post_data_buffer or b""))

    renting.go("/data")
    renting.connect()
    page.get_by_label("Choose files").set_input_files(files())
    expect(page.get_by_text("Stored, and its CID compared")).to_be_visible()
    picture("data")
    assert not any(SECRET in body for body in sent)
    page.reload()  # its key is there all the same
    expect(page.get_by_text("Stored, and its CID compared")).to_be_visible()

    renting.fill(COMMAND, connected=True)
    page.get_by_role("button", name=re.compile("^Add words.txt")).click()
    page.get_by_label("Where data 1 lies, read-only").fill("/data")
    page.get_by_label("Folders that come back (may stay empty)").fill("/out")
    page.get_by_label("It is a job: what comes back is packed when its command ends").check()
    panel = page.get_by_role("region", name=re.compile("^Rent 1 .*unit of machine"))
    expect(panel).to_contain_text("a signature of which the key of your results is made")
    picture("rent-data")
    lease = renting.rent()
    assert [message["primaryType"] for message in wallet.signed] == ["Session", "ResultsKey", "Permit"]
    assert not any(SECRET in body for body in sent)

    site.until(lambda: site.events(ResultPublished, lease))
    page.get_by_role("button", name="Results").click()
    page.get_by_role("button", name="Fetch the results").click()
    page.get_by_role("button", name="Open /out").click()
    expect(page.get_by_text("Whole, and what the chain names")).to_be_visible()
    picture("results")
    assert saved(renting, "Save out/sorted.txt", tmp_path) == b"apple\n" + SECRET + b"pear\n"
    assert saved(renting, "Save out/deep/large.bin", tmp_path) == files()[1]["buffer"]
    assert wallet.asked.count("personal_sign") == 1


def test_a_gateway_that_swaps_what_is_stored_is_found_out(renting: Renting) -> None:
    page = renting.page

    def swapped(route: Route) -> None:
        body = bytearray(route.request.post_data_buffer or b"")
        body[-1] ^= 1
        route.continue_(post_data=bytes(body))

    page.route(re.compile(r"/api/v1/uploads/[^/]+$"), lambda route: _only("PATCH", route, swapped))
    renting.go("/data")
    renting.connect()
    page.get_by_label("Choose files").set_input_files(files()[:1])
    expect(page.get_by_role("alert")).to_contain_text("The gateway has made something else of what was sent")
    expect(page.get_by_text("Sealed, and not sent in full")).to_be_visible()


def _only(method: str, route: Route, act: Callable[[Route], None]) -> None:
    if route.request.method == method:
        act(route)
    else:
        route.continue_()


def test_files_share_and_rating_by_the_lease_s_own_page(
    renting: Renting, tmp_path: Path, picture: Callable[[str], None]
) -> None:
    page, site = renting.page, renting.site
    renting.fill("mkdir -p /tmp/here && echo made there > /tmp/here/made.txt; exec sleep 3600")
    lease = renting.rent()
    expect(page.get_by_label("Where the lease is")).to_contain_text("It runs and is billed by the second")

    page.get_by_role("button", name="Files").click()
    page.get_by_role("button", name="tmp/").click()
    page.get_by_role("button", name="here/").click()
    assert saved(renting, "Save made.txt", tmp_path) == b"made there\n"
    page.get_by_label("Put files here").set_input_files(files()[1:])
    assert saved(renting, "Save large.bin", tmp_path) == files()[1]["buffer"]
    picture("files")

    page.get_by_role("button", name="Metrics").click()
    expect(page.get_by_role("slider", name="Memory")).to_be_visible()
    picture("metrics")

    page.get_by_role("button", name="Money").click()
    page.get_by_text("Another share of the machine").click()
    page.get_by_role("button", name="1/2", exact=True).click()
    picture("money")
    page.get_by_role("button", name="Give it 1/2 for 1.2 TUSD by the hour").click()
    expect(page.get_by_role("alert")).to_contain_text("trial")  # the chain's own word, before a wallet opens
    page.get_by_role("button", name=re.compile("^Close and take back ")).click()
    page.get_by_role("button", name="5 stars").click()
    page.get_by_role("button", name="Rate it with 5 of 5 stars").click()
    expect(page.get_by_text("You have rated this lease.")).to_be_visible()
    (rated,) = site.events(Rated, lease)
    assert isinstance(rated, Rated)
    assert rated.stars == 5
    page.set_viewport_size(PHONE)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    picture("rated")
