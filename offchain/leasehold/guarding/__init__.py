"""A guard of somebody's leases, with nobody there: it looks, tells each cause once, and does what is due within bounds.

    settings = GuardSettings.of(table)
    guard = Guard(pool, settings, channels_of(settings))
    async with guard.term_begun():
        async for looked in guard.looks():
            print(looked.new)

Its files, in order: `_errors`, `_settings`, `_sights` (what a look knows), `_alerts` (what there is to tell of it),
`_telling` (each once), `_deeds` (what is to be done), `_reach` (whom strangers may have called), `_channels`,
`_looking`, `_acting`, `_guard`, `_trying`, and of who guards for others: `_recipients` (whom he tells), `_watching`
(what he knows). The first six decide, and touch nothing but the secrets that settings name.
"""

from typing import TYPE_CHECKING

from leasehold._faces import face

if TYPE_CHECKING:
    from leasehold.guarding._alerts import Alert, AlertKind
    from leasehold.guarding._channels import SIGNATURE, Channel, channels_of, signature
    from leasehold.guarding._deeds import Deed
    from leasehold.guarding._errors import (
        GuardDeposed,
        GuardSecretMissing,
        GuardSettingWrong,
        NoChannels,
        NotDelivered,
    )
    from leasehold.guarding._guard import Guard, GuardLooked
    from leasehold.guarding._reach import AlertReach
    from leasehold.guarding._recipients import AlertRecipient, AlertWay, confirmation
    from leasehold.guarding._settings import GuardSettings, KeepSettings, MailServer, Secret
    from leasehold.guarding._trying import ChannelTried, try_channels
    from leasehold.guarding._watching import (
        WATCHED_KINDS,
        AgentSilences,
        AlertWishes,
        LeaseFund,
        PoolSight,
        after_sending,
        next_alert,
        told,
        watched,
    )

__all__ = [
    "SIGNATURE",
    "WATCHED_KINDS",
    "AgentSilences",
    "Alert",
    "AlertKind",
    "AlertReach",
    "AlertRecipient",
    "AlertWay",
    "AlertWishes",
    "Channel",
    "ChannelTried",
    "Deed",
    "Guard",
    "GuardDeposed",
    "GuardLooked",
    "GuardSecretMissing",
    "GuardSettingWrong",
    "GuardSettings",
    "KeepSettings",
    "LeaseFund",
    "MailServer",
    "NoChannels",
    "NotDelivered",
    "PoolSight",
    "Secret",
    "after_sending",
    "channels_of",
    "confirmation",
    "next_alert",
    "signature",
    "told",
    "try_channels",
    "watched",
]

_PARTS = {
    "_alerts": ("Alert", "AlertKind"),
    "_channels": ("SIGNATURE", "Channel", "channels_of", "signature"),
    "_deeds": ("Deed",),
    "_errors": ("GuardDeposed", "GuardSecretMissing", "GuardSettingWrong", "NoChannels", "NotDelivered"),
    "_guard": ("Guard", "GuardLooked"),
    "_reach": ("AlertReach",),
    "_recipients": ("AlertRecipient", "AlertWay", "confirmation"),
    "_settings": ("GuardSettings", "KeepSettings", "MailServer", "Secret"),
    "_trying": ("ChannelTried", "try_channels"),
    "_watching": (
        "WATCHED_KINDS", "AgentSilences", "AlertWishes", "LeaseFund", "PoolSight", "after_sending",
        "next_alert", "told", "watched",
    ),
}  # fmt: skip
if not TYPE_CHECKING:
    __getattr__ = face(__name__, _PARTS)
