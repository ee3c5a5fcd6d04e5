"""`leasehold registry`: logins that machines show to registries of images for you."""

from __future__ import annotations

from typing import Annotated

from leasehold.cli._asking import NobodyThere, ask_password
from leasehold.cli._command import ANSWERS, Invocation, shared
from leasehold.cli._options import argument, option
from leasehold.images import ImageResolver, Login, is_server, server_of
from leasehold.market import InvalidInput

Server = Annotated[str, argument("SERVER", "As in front of an image's name: ghcr.io, docker.io, host:5000.")]


@shared(ANSWERS)
async def login(
    call: Invocation,
    server: Server,
    username: Annotated[str, option("--username -u NAME", "Who you are there; `$oauthtoken` at nvcr.io.")],
) -> None:
    """Leave a login for a registry, to go with workloads whose image not everybody may have.

    The password is asked for, or read from standard input, and tried at the registry. It goes, sealed, to the machines
    that you rent, whose owners can read it: take a token that may read images and nothing else.
    """
    known = _server(server)
    try:
        password = ask_password(f"Password, or token, of {username} at {known}")
    except NobodyThere:
        raise InvalidInput("There is nobody to ask for the password: write it to standard input.") from None
    if not username or not password:
        raise InvalidInput("A login has a name and a password: give both.")
    made = Login(known, username, password)
    with call.out.working(f"Asking {known}"):
        await ImageResolver().check_login(made)
    call.home.registry_logins.keep(made)
    call.out.answer({"server": known, "username": username})
    call.out.say(f"Kept in {call.home.registry_logins.path}, for you alone to read.")
    call.out.warn(
        f"With workloads whose image is private at {known} it goes to machines whose owners can read it: let it be a "
        "token that may read images and nothing else."
    )


@shared(ANSWERS)
async def logout(call: Invocation, server: Server) -> None:
    """Forget the login for a registry. What machines have of it stays there: end it at the registry too."""
    known = _server(server)
    if not call.home.registry_logins.forget(known):
        raise InvalidInput(f"There is no login for {known}: see `leasehold registry list`.")
    call.out.answer({"server": known})
    call.out.say(f"The login for {known} is forgotten here.")


@shared(ANSWERS, "list")
async def list_logins(call: Invocation) -> None:
    """List the registries for which there is a login."""
    logins = [kept for _, kept in sorted(call.home.registry_logins.all().items())]
    call.out.listing(
        [{"server": kept.server, "username": kept.username} for kept in logins],
        ("server", "user"),
        [(kept.server, kept.user) for kept in logins],
        empty="No login is kept: `leasehold registry login SERVER` keeps one.",
    )


def _server(text: str) -> str:
    if not is_server(server := server_of(text)):
        raise InvalidInput(
            f"'{text}' is no registry: write it as in front of an image's name, such as ghcr.io."
        )
    return server
