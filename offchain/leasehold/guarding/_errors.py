"""What keeps a guard from guarding.

SettingsError
├── GuardSettingWrong
├── GuardSecretMissing
└── NoChannels
LeaseholdError
├── GuardDeposed
└── NotDelivered
"""

from __future__ import annotations

from leasehold.errors import LeaseholdError, SettingsError, error_type


@error_type(
    "guard-setting-wrong",
    problem="The guard's setting `{setting}` is wrong ({why})",
    advice="correct it under [guard] in config.toml.",
)
class GuardSettingWrong(SettingsError):
    """It cannot be read."""

    setting: str
    why: str


@error_type(
    "guard-secret-missing",
    problem="A channel's secret cannot be read from {place}",
    advice="put it there, for yourself alone, or name another place.",
)
class GuardSecretMissing(SettingsError):
    """Where it should lie there is nothing that can be one."""

    place: str


@error_type(
    "no-channels",
    problem="No channel for alerts is set",
    advice="name a webhook, mail or ntfy under [guard] in config.toml.",
)
class NoChannels(SettingsError):
    """There is nothing to test."""


@error_type(
    "guard-deposed",
    problem="Another guard has taken over",
    advice="let it do the rest; this one has stopped.",
)
class GuardDeposed(LeaseholdError):
    """Its lock was taken from it, as where the lock's file was deleted. It has sent nothing since."""


@error_type(
    "not-delivered", problem="{channel} did not take the alert: {why}", advice="it is tried again later."
)
class NotDelivered(LeaseholdError):
    """A channel is away, or refuses. why: without addresses, which may hold what is nobody's business."""

    channel: str
    why: str
