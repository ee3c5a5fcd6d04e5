"""What can go wrong between an image's name and its digest.

WorkloadError
└── ImageError                  catching it is enough
    ├── ImageNameInvalid
    ├── ImageNotFound           the registry does not have it, or not for whom it was asked
    ├── NoSuchPlatform
    ├── RegistryUnreachable
    ├── RegistryBusy
    ├── RegistryOdd             it answered with what is no image
    ├── DigestDiffers           it answered with another image than the one that was named
    ├── RealmElsewhere          it wants passwords sent to another host
    ├── RegistryLoginRefused
    └── LoginUnreadable
"""

from __future__ import annotations

from typing import ClassVar

from leasehold.errors import WorkloadError, error_type


class ImageError(WorkloadError):
    """An image's name leads to no image that could be signed for."""

    code = "image"
    exit_code: ClassVar[int] = 6


@error_type(
    "image-name-invalid",
    problem="'{name}' is no image's name",
    advice="write it as for Docker, such as pytorch/pytorch:2.5, or as <name>@sha256:<digest>.",
)
class ImageNameInvalid(ImageError):
    """Not a reference as registries and engines read it."""

    name: str


@error_type(
    "image-not-found",
    problem="{registry} has no {image} for {whom}",
    advice="check the name and the tag, or log in to that registry if it is private.",
)
class ImageNotFound(ImageError):
    """Registries say the same of what is not there and of what is not for whoever asks: `whom`, everybody or a user."""

    registry: str
    image: str
    whom: str


@error_type(
    "no-such-platform",
    problem="{image} is not made for {platform}",
    advice="it is for {listed}: choose another machine, or another image.",
)
class NoSuchPlatform(ImageError):
    """The image has a manifest for others alone."""

    image: str
    platform: str
    platforms: tuple[str, ...]

    @property
    def listed(self) -> str:
        return ", ".join(self.platforms) or "none that is named"


@error_type(
    "registry-unreachable",
    problem="{registry} cannot be asked for the image ({reason})",
    advice="try again in a moment, or name the image by its digest.",
)
class RegistryUnreachable(ImageError):
    """No answer, or one that tells of trouble of its own."""

    registry: str
    reason: str


@error_type(
    "registry-busy",
    problem="{registry} answers no more questions from here for now",
    advice="wait, log in to it, or name the image by its digest.",
)
class RegistryBusy(ImageError):
    """Its limit for this address, or for this user, is reached."""

    registry: str


@error_type(
    "registry-odd",
    problem="What {registry} calls {image} is no image ({reason})",
    advice="choose another tag.",
)
class RegistryOdd(ImageError):
    """It is too old, too large, or something else."""

    registry: str
    image: str
    reason: str


@error_type(
    "digest-differs",
    problem="{registry} gave another image for {image}",
    advice="do not use it before you know why.",
)
class DigestDiffers(ImageError):
    """What came does not have the digest that was asked for, or that its registry says it has."""

    registry: str
    image: str


@error_type(
    "realm-elsewhere",
    problem="{registry} wants its passwords sent to {host}",
    advice="they go to the registry alone; name the image by its digest, or take it from another registry.",
)
class RealmElsewhere(ImageError):
    """A password, or a token for one, would go to another host than the registry's own."""

    registry: str
    host: str


@error_type(
    "registry-login-refused",
    problem="{server} does not know user {username} by that password",
    advice="check both; registries with a second factor want a token in place of the password.",
)
class RegistryLoginRefused(ImageError):
    """The registry was asked, and said no."""

    server: str
    username: str


@error_type(
    "login-unreadable",
    problem="The login for {server} cannot be read ({reason})",
    advice="log in to that registry again.",
)
class LoginUnreadable(ImageError):
    """A file of logins is damaged, or the program that keeps them failed."""

    server: str
    reason: str
