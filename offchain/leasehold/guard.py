"""A guard that looks after leases with nobody there: it warns, extends, challenges and recovers, within bounds.

    from leasehold.guard import Guard, GuardSettings, channels_of

    settings = GuardSettings.of({"end_near": "1h", "ntfy": {"topic": "my-leases"}})
    guard = Guard(pool, settings, channels_of(settings))
    async with guard.term_begun():
        async for looked in guard.looks():
            print(looked.new)

A run that is begun with `recover=True` is gone on with on another machine; `docs/guides/guard.md` is the guide.
"""

from leasehold.guarding import (
    Alert,
    AlertKind,
    ChannelTried,
    Deed,
    Guard,
    GuardDeposed,
    GuardLooked,
    GuardSettings,
    channels_of,
    signature,
    try_channels,
)

__all__ = [
    "Alert",
    "AlertKind",
    "ChannelTried",
    "Deed",
    "Guard",
    "GuardDeposed",
    "GuardLooked",
    "GuardSettings",
    "channels_of",
    "signature",
    "try_channels",
]
