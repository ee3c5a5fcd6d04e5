"""What a volume is called and by which key it is sealed; and a checkpoint, which is one of a lease's own.

The key is the tenant's: made of one signature of the account that rents and of the volume's name, so that the same
wallet makes it again on any computer. It travels inside the sealed workload, and is on no disk of the machine's.
"""

import hashlib
import re
from typing import Annotated, Final

from pydantic import AfterValidator, StringConstraints

from leasehold.workload._values import refuse

LEAST_VOLUME_BYTES: Final = 32 << 20
"""Below that a file system is mostly its own tables."""
LEAST_INTERVAL: Final = 10
"""Seconds between two checkpoints at least: each has its host read the whole folder."""
KEY_BYTES: Final = 32
_DOMAIN: Final = b"leasehold volume key 1"


def _key(value: str) -> str:
    if not re.fullmatch(rf"[0-9a-f]{{{2 * KEY_BYTES}}}", value):
        raise refuse(f"is not a volume's key: {KEY_BYTES} bytes in hex")
    return value


VolumeName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$")]
"""Part of no path: no slash, no dot in front, small letters alone."""
VolumeKey = Annotated[str, AfterValidator(_key)]


def volume_key(signature: bytes) -> str:
    """The key that a wallet's signature of a volume's name comes to, in hex.

    signature: 65 bytes r, s, v. What v is depends on the wallet's conventions, and does not count.
    """
    return hashlib.sha256(_DOMAIN + signature[:64]).hexdigest()
