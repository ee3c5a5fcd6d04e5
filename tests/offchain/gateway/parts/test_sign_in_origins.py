"""Which pages elsewhere a gateway's operator may let sign in."""

from __future__ import annotations

from pathlib import Path

import pytest

from leasehold.chain import Deployment
from leasehold.errors import SettingsError
from leasehold.gateway import GatewaySettings
from leasehold.gateway._sign_in_origins import SHARED, check_sign_in_origins

ADDRESSES = ["0x" + digit * 40 for digit in "1234"]
CID = "bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi"


@pytest.mark.parametrize(
    "origin",
    [
        "https://app.example",
        "https://app.example:8443",
        "https://xn--bcher-kva.example",
        f"https://{CID}.ipfs.dweb.link",
        "https://app-example.ipns.dweb.link",
        f"http://{CID}.ipfs.localhost:8080",
        "http://localhost:5173",
        "http://127.0.0.1:9000",
        "http://[::1]:9000",
        "https://[2001:db8::1]",
    ],
)
def test_an_origin_of_one_site_may_be_named(origin: str) -> None:
    check_sign_in_origins((origin,), ())


@pytest.mark.parametrize(
    "origin",
    [
        "*",
        "null",
        "",
        "https://*.ipfs.dweb.link",
        "https://app.example/",
        "https://app.example/app",
        "https://app.example#",
        "https://app.example?x",
        "https://user@app.example",
        "https://app.example:443",
        "http://localhost:80",
        "https://app.example:99999",
        "https://App.example",
        "https://app.example.",
        "https://büro.example",
        "https://-app.example",
        "ipfs://" + CID,
        "file://",
        "https://app.example https://other.example",
        "https://app.example\n",
    ],
)
def test_what_is_no_origin_as_browsers_write_it_is_refused(origin: str) -> None:
    with pytest.raises(SettingsError, match="is no page's origin"):
        check_sign_in_origins(("https://app.example", origin), ())


@pytest.mark.parametrize(
    "origin", ["http://app.example", "http://127.0.0.1.evil.example", "http://192.168.1.2"]
)
def test_a_page_that_can_be_changed_on_its_way_may_not_be_named(origin: str) -> None:
    with pytest.raises(SettingsError, match="changed on its way"):
        check_sign_in_origins((origin,), ())


@pytest.mark.parametrize("host", [*sorted(SHARED), "www.dweb.link", "dweb.link:8443"])
def test_a_gateway_for_ipfs_where_every_site_has_the_same_origin_may_not_be_named(host: str) -> None:
    with pytest.raises(SettingsError, match="one origin"):
        check_sign_in_origins((f"https://{host}",), ())


def test_the_gateways_own_address_is_no_page_elsewhere() -> None:
    with pytest.raises(SettingsError, match="own address"):
        check_sign_in_origins(("https://gate.example",), ("https://Gate.example/",))


def test_settings_hold_no_other(tmp_path: Path) -> None:
    deployment = Deployment(31337, "0x" + "ab" * 32, *ADDRESSES, 1, "TUSD", 6)
    assert GatewaySettings(deployment, tmp_path).sign_in_origins == ()
    with pytest.raises(SettingsError):
        GatewaySettings(deployment, tmp_path, sign_in_origins=("*",))


@pytest.mark.parametrize(
    "origin",
    [
        "*",
        "app.example",
        "https://app.example/",
        "https://me@app.example",
        "https://App.example",
        "ftp://app.example",
    ],
)
def test_who_may_only_read_is_named_as_browsers_name_him_too(tmp_path: Path, origin: str) -> None:
    """One that is written otherwise had been taken, and let nobody read."""
    deployment = Deployment(31337, "0x" + "ab" * 32, *ADDRESSES, 1, "TUSD", 6)
    with pytest.raises(SettingsError, match="is no page's origin"):
        GatewaySettings(deployment, tmp_path, origins=(origin,))
    GatewaySettings(deployment, tmp_path, origins=("http://app.example:8080",))
