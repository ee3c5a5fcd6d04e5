"""Questions to one registry by one login, or by nobody's: what it wants to see is shown from when it first asks."""

from __future__ import annotations

from leasehold.images._access import Login, authorization, base_url
from leasehold.images._errors import RegistryUnreachable
from leasehold.images._http import Ask, RegistryAnswer
from leasehold.images._manifest import ACCEPTED

_WANTS_A_LOGIN = 401


class Visit:
    """repository: what is to be pulled; `None` where it is asked only who somebody is."""

    def __init__(self, ask: Ask, registry: str, repository: str | None, login: Login | None) -> None:
        self._ask, self.registry, self._repository, self.login = ask, registry, repository, login
        self._base = base_url(registry)
        self._headers = {"Host": self._base.partition("://")[2], "Accept": ACCEPTED}

    async def answer(self, path: str, most: int) -> RegistryAnswer:
        """What the registry says at `path`, in `most` bytes. Raises RegistryUnreachable, RealmElsewhere."""
        answer = await self._once(path, most)
        if answer.status == _WANTS_A_LOGIN and await self._enter(answer):
            answer = await self._once(path, most)
        return answer

    async def _once(self, path: str, most: int) -> RegistryAnswer:
        try:
            return await self._ask("GET", f"{self._base}{path}", self._headers, most=most)
        except (OSError, ValueError) as error:
            raise RegistryUnreachable(self.registry, _reason(error)) from None

    async def _enter(self, answer: RegistryAnswer) -> bool:
        """Show from now on what it wants to see; whether that can be had, and is not what it has just refused."""
        try:
            shown = await authorization(
                self._ask, answer.challenges, self.registry, self._repository, self.login
            )
        except (OSError, ValueError) as error:
            raise RegistryUnreachable(self.registry, _reason(error)) from None
        if shown is None or self._headers.get("Authorization") == shown:
            return False
        self._headers["Authorization"] = shown
        return True


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "it does not answer"
    return "its answer cannot be read" if isinstance(error, ValueError) else str(error).rstrip(".")
