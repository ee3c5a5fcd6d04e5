"""What may stand under [guard], and that no secret stands there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leasehold.guarding import GuardSecretMissing, GuardSettings, GuardSettingWrong, channels_of
from leasehold.guarding._settings import Secret

SECRET = {"env": "HOOK"}
HOOK = {"url": "https://example.org/x", "secret": SECRET}
MAIL = {"host": "mail.example.org", "to": "a@example.org", "sender": "b@example.org"}
KEEP = {"by": "1h", "at_most": "2d", "budget": "10.5"}


def test_durations_are_written_as_people_do() -> None:
    settings = GuardSettings.of({"every": "5m", "end_near": "2h", "silent_after": 90, "keep": {"x": KEEP}})
    assert (settings.every, settings.end_near, settings.silent_after) == (300, 7_200, 90)
    assert (settings.keep["x"].by, settings.keep["x"].at_most, settings.keep["x"].before) == (
        3_600,
        172_800,
        900,
    )
    assert channels_of(settings) == ()


def test_all_channels() -> None:
    settings = GuardSettings.of({"webhook": HOOK, "mail": MAIL, "ntfy": {"topic": "mine"}})
    assert [channel.name for channel in channels_of(settings)] == ["webhook", "mail", "ntfy"]
    assert [GuardSettings.of({"mail": {**MAIL, "tls": tls, "host": "localhost"}}).mail.at  # type: ignore[union-attr]
            for tls in ("starttls", "tls", "none")] == [587, 465, 25]  # fmt: skip


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"evry": 5}, "evry", "there is no such setting"),
    ({"every": "soon"}, "every", ""),
    ({"every": 0}, "every", ""),
    ({"every": True}, "every", ""),
    ({"cheaper_by": 100}, "cheaper_by", ""),
    ({"gas_low": "-1"}, "gas_low", ""),
    ({"gas_low": "1e3"}, "gas_low", ""),
    ({"keep": {"x": {"by": "1h", "at_most": "1d"}}}, "keep.x.budget", ""),
    ({"keep": {"x": {**KEEP, "label": "project"}}}, "keep.x.label", "it should be WORD=VALUE"),
    ({"webhook": {"url": "https://example.org"}}, "webhook.secret", ""),
    ({"webhook": {"url": "http://example.org", "secret": SECRET}}, "webhook.url", "it should begin with https://"),
    ({"webhook": {"url": "https://me:pass@example.org", "secret": SECRET}}, "webhook.url", "a password stands in it"),
    ({"webhook": {"url": "file:///etc/passwd", "secret": SECRET}}, "webhook.url", "https://"),
    ({"webhook": {"url": "https://", "secret": SECRET}}, "webhook.url", "https://"),
    ({"webhook": {**HOOK, "secret": "hunter2"}}, "webhook.secret", ""),
    ({"webhook": {**HOOK, "secret": {}}}, "webhook.secret", "name a file or an env"),
    ({"webhook": {**HOOK, "secret": {"file": "x", "env": "Y"}}}, "webhook.secret", "name a file or an env"),
    ({"mail": {**MAIL, "tls": "none"}}, "mail", "to this computer alone"),
    ({"mail": {**MAIL, "to": "a@b\r\nBcc: c@d"}}, "mail.to", ""),
    ({"mail": {**MAIL, "user": "me"}}, "mail", "belong together"),
    ({"ntfy": {"topic": "../x"}}, "ntfy.topic", ""),
]  # fmt: skip


@pytest.mark.parametrize(("table", "place", "why"), WRONG)
def test_what_is_wrong_is_said_with_its_place(table: dict[str, Any], place: str, why: str) -> None:
    with pytest.raises(GuardSettingWrong) as wrong:
        GuardSettings.of(table)
    assert wrong.value.setting == place
    assert why in wrong.value.why
    assert "hunter2" not in str(wrong.value)


def test_secrets_are_read_where_they_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "secret"
    file.write_text("hunter2\nmore\n")
    assert Secret(file=file).read() == "hunter2"
    monkeypatch.setenv("HOOK", "hunter3")
    assert Secret(env="HOOK").read() == "hunter3"


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\xfe", b"x" * 5_000])
def test_a_secret_that_is_none(tmp_path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "secret"
    file.write_bytes(content)
    with pytest.raises(GuardSecretMissing):
        Secret(file=file).read()
    with pytest.raises(GuardSecretMissing):
        Secret(file=tmp_path / "nothing").read()
    monkeypatch.delenv("HOOK", raising=False)
    with pytest.raises(GuardSecretMissing, match="the environment's HOOK"):
        Secret(env="HOOK").read()
