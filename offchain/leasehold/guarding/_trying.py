"""Whether each channel takes an alert: a test of one's settings, before they are needed."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

from leasehold.errors import LeaseholdError
from leasehold.guarding._alerts import Alert, AlertKind
from leasehold.guarding._channels import channels_of
from leasehold.guarding._errors import NoChannels
from leasehold.guarding._settings import GuardSettings


@dataclass(frozen=True)
class ChannelTried:
    """What became of a test alert. problem: `None` where the channel took it."""

    channel: str
    problem: LeaseholdError | None


async def try_channels(settings: GuardSettings) -> AsyncIterator[ChannelTried]:
    """Send a test alert by each channel that is set, one after the other. Raises NoChannels."""
    channels, now = channels_of(settings), int(time.time())
    if not channels:
        raise NoChannels()
    alert = Alert(AlertKind.TEST, str(now), "This is a test: alerts of your leases arrive here.").to_json(now)
    for channel in channels:
        problem = None
        try:
            await channel.send(alert)
        except LeaseholdError as error:
            problem = error
        yield ChannelTried(channel.name, problem)
