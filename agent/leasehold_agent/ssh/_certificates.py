"""Certificates for SSH: a tenant's signed request lets a throw-away key into a lease for some minutes.

What signs them lives as long as this process and is written nowhere; so do the passes behind them. A certificate alone
opens nothing: its pass says for whom it was made, and is asked again for as long as a connection stands on it.
"""

from __future__ import annotations

import base64
import secrets
from collections import OrderedDict, defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

import asyncssh
from asyncssh.public_key import SSHOpenSSHCertificate

from leasehold.chain import format_lease
from leasehold_agent._runtime import LeaseHandle

LIFETIME: Final = 600
"""Seconds in which a certificate lets somebody in; who is in stays for as long as the pass holds."""
OF_LEASE: Final = 32
_OVER: Final = frozenset({"stopping", "ended", "declined"})


@dataclass(frozen=True)
class Pass:
    """Into `lease`, until `until` (unix seconds). holds: whether whoever asked for it still may enter."""

    lease: int
    until: int
    holds: Callable[[], Awaitable[bool]] = field(repr=False)


class Certificates:
    """The certificates that are out. now: unix seconds."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._authority = asyncssh.generate_private_key("ssh-ed25519")
        self._passes: defaultdict[int, OrderedDict[int, Pass]] = defaultdict(
            OrderedDict
        )  # by lease and serial

    @property
    def authority(self) -> bytes:
        """The public key of what signs them."""
        return self._authority.public_data

    def mint(
        self, key: bytes, lease: int, holds: Callable[[], Awaitable[bool]], *, ends_at: int | None = None
    ) -> tuple[str, int]:
        """A certificate for an Ed25519 public key (32 bytes), as an OpenSSH line, and until when it lets in.

        Of more than `OF_LEASE` the oldest is good for nothing more. ends_at: when the right to it ends anyway.
        """
        serial, until = secrets.randbits(64), self._now() + LIFETIME
        until = until if ends_at is None else min(until, ends_at)
        passes = self._passes[lease]
        passes[serial] = Pass(lease, until, holds)
        while len(passes) > OF_LEASE:
            passes.popitem(last=False)
        self._forget()
        blob = b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + key
        made = self._authority.generate_user_certificate(
            asyncssh.import_public_key(b"ssh-ed25519 " + base64.b64encode(blob)),
            f"lease {format_lease(lease)}",
            serial=serial,
            principals=[format_lease(lease)],
            # From ever on: a clock that is set back keeps nobody out.
            valid_before=until,
            permit_x11_forwarding=False,
            permit_agent_forwarding=False,
            permit_user_rc=False,
        )
        return made.export_certificate().decode().strip(), until

    def pass_of(self, certificate: SSHOpenSSHCertificate, lease: int) -> Pass | None:
        """What stands behind a certificate that the authority signed, if it leads into `lease` and has time left."""
        if (passes := self._passes.get(lease)) is None or (held := passes.get(certificate._serial)) is None:
            return None
        return held if self._now() < held.until else None

    def _forget(self) -> None:
        """Those that let nobody in any more."""
        now = self._now()
        for lease in list(self._passes):
            passes = self._passes[lease]
            for serial in [serial for serial, held in passes.items() if held.until <= now]:
                del passes[serial]
            if not passes:
                del self._passes[lease]


def is_over(handle: LeaseHandle, now: int) -> bool:
    """Whether nobody may enter any more, whatever of it is kept."""
    return handle.phase in _OVER or (handle.end is not None and handle.end <= now)
