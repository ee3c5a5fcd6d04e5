"""Images as their registries have them: names, digests, platforms, sizes, and who may fetch them.

    image = await ImageResolver().resolve("pytorch/pytorch:2.5")
    image.reference                                  # pytorch/pytorch@sha256:…, which a workload names

Each file stands on none but those before it:

    _errors        what can go wrong
    _reference     a name, read as Docker reads it
    _http          short questions to registries
    _access        where they are asked, and what they want to see; the agent asks by it too
    _manifest      what they answer
    _docker_login  what `docker login` has left
    _resolver      from a name to a digest
"""

from typing import TYPE_CHECKING

from leasehold._faces import face

if TYPE_CHECKING:
    from leasehold.images._access import (
        Credentials,
        Login,
        authorization,
        base_url,
        check_realm,
        is_loopback,
    )
    from leasehold.images._docker_login import docker_login
    from leasehold.images._errors import (
        DigestDiffers,
        ImageError,
        ImageNameInvalid,
        ImageNotFound,
        LoginUnreadable,
        NoSuchPlatform,
        RealmElsewhere,
        RegistryBusy,
        RegistryLoginRefused,
        RegistryOdd,
        RegistryUnreachable,
    )
    from leasehold.images._http import Ask, RegistryAnswer, ask
    from leasehold.images._manifest import ACCEPTED
    from leasehold.images._reference import (
        ImageReference,
        is_server,
        parse_reference,
        registry_of,
        repository_of,
        server_of,
    )
    from leasehold.images._resolver import PLATFORM, ImageResolver, LoginFor, ResolvedImage

__all__ = [
    "ACCEPTED",
    "PLATFORM",
    "Ask",
    "Credentials",
    "DigestDiffers",
    "ImageError",
    "ImageNameInvalid",
    "ImageNotFound",
    "ImageReference",
    "ImageResolver",
    "Login",
    "LoginFor",
    "LoginUnreadable",
    "NoSuchPlatform",
    "RealmElsewhere",
    "RegistryAnswer",
    "RegistryBusy",
    "RegistryLoginRefused",
    "RegistryOdd",
    "RegistryUnreachable",
    "ResolvedImage",
    "ask",
    "authorization",
    "base_url",
    "check_realm",
    "docker_login",
    "is_loopback",
    "is_server",
    "parse_reference",
    "registry_of",
    "repository_of",
    "server_of",
]

_PARTS = {
    "_access": ("Credentials", "Login", "authorization", "base_url", "check_realm", "is_loopback"),
    "_docker_login": ("docker_login",),
    "_errors": (
        "DigestDiffers", "ImageError", "ImageNameInvalid", "ImageNotFound", "LoginUnreadable",
        "NoSuchPlatform", "RealmElsewhere", "RegistryBusy", "RegistryLoginRefused", "RegistryOdd",
        "RegistryUnreachable",
    ),
    "_http": ("Ask", "RegistryAnswer", "ask"),
    "_manifest": ("ACCEPTED",),
    "_reference": (
        "ImageReference", "is_server", "parse_reference", "registry_of", "repository_of", "server_of",
    ),
    "_resolver": ("PLATFORM", "ImageResolver", "LoginFor", "ResolvedImage"),
}  # fmt: skip
if not TYPE_CHECKING:
    __getattr__ = face(__name__, _PARTS)
