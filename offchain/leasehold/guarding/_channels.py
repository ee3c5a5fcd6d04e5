"""The ways to a person: a webhook, a letter, ntfy. Each takes one alert in a bounded time, or says that it did not.

What a channel answers is never read beyond its status, it is never followed elsewhere, and nothing of its address is
repeated in what is said of it: addresses hold secrets.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import smtplib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import SMTP
from typing import Any, Final, Protocol

import httpx
import orjson

from leasehold._connections import authorities, tidy
from leasehold.guarding._alerts import harmless
from leasehold.guarding._errors import NotDelivered
from leasehold.guarding._reach import AlertReach
from leasehold.guarding._settings import GuardSettings, MailServer
from leasehold.market.wire import AgentUnreachable

SECONDS = 15.0
"""For one alert on its way, from the name that is looked up to the answer's status."""
SIGNATURE = "X-Leasehold-Signature"
_LETTER: Final = SMTP.clone(max_line_length=998)
"""As long as a line may be (RFC 5322): at the usual 78 a link in the head becomes an encoded word, of no use."""


class ReadsSecret(Protocol):
    """Where a secret lies."""

    def read(self) -> str:
        """Raises GuardSecretMissing."""
        ...


class Channel(Protocol):
    """One way. name: as it is told of."""

    name: str

    async def send(self, alert: Mapping[str, Any]) -> None:
        """Raises NotDelivered, GuardSecretMissing."""
        ...


def channels_of(settings: GuardSettings) -> tuple[Channel, ...]:
    """Those that are set. Nothing is opened, and no secret is read, before something is sent."""
    made: list[Channel] = []
    if settings.webhook is not None:
        made.append(Webhook(settings.webhook.url, settings.webhook.secret))
    if settings.mail is not None:
        made.append(Mail(settings.mail, settings.mail.to))
    if settings.ntfy is not None:
        made.append(Ntfy(settings.ntfy.url, settings.ntfy.topic, settings.ntfy.token))
    return tuple(made)


def signature(secret: str, at: int, body: bytes) -> str:
    """What stands in the header: the time in it is signed too, so that nobody replays an alert a year later."""
    digest = hmac.digest(secret.encode(), f"{at}.".encode() + body, "sha256").hex()
    return f"t={at},v1={digest}"


@dataclass
class Webhook:
    """A JSON document is posted to `url`, signed by `secret`. reach: whom may be called, where a stranger named it."""

    url: str
    secret: ReadsSecret
    name: str = "webhook"
    reach: AlertReach | None = None
    seconds: float = SECONDS

    async def send(self, alert: Mapping[str, Any]) -> None:
        body = orjson.dumps(dict(alert))
        signed = signature(self.secret.read(), int(time.time()), body)
        headers = {"Content-Type": "application/json", SIGNATURE: signed}
        await _post(self.name, self.url, body, headers, self.reach, self.seconds)


@dataclass
class Ntfy:
    """A message to a topic of an ntfy server. reach: as of a webhook."""

    url: str
    topic: str
    token: ReadsSecret | None = None
    name: str = "ntfy"
    reach: AlertReach | None = None
    seconds: float = SECONDS

    async def send(self, alert: Mapping[str, Any]) -> None:
        token = self.token
        headers = {"Authorization": f"Bearer {token.read()}"} if token is not None else {}
        message = {
            "topic": self.topic,
            "title": title_of(alert),
            "message": text_of(alert),
            "priority": 4 if alert["urgent"] else 3,
            "tags": [str(alert["kind"])],
        }
        await _post(self.name, self.url, orjson.dumps(message), headers, self.reach, self.seconds)


async def _post(
    name: str,
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    reach: AlertReach | None,
    seconds: float,
) -> None:
    """Raises NotDelivered. The whole of it has `seconds`: a server that drips or never stops holds nobody up."""
    transport = None if reach is None else reach.transport()
    try:
        async with (
            asyncio.timeout(seconds),
            tidy(
                httpx.AsyncClient(
                    transport=transport, verify=authorities(), follow_redirects=False, trust_env=False
                )
            ) as client,
            client.stream("POST", url, content=body, headers=dict(headers), timeout=seconds) as response,
        ):
            status = response.status_code
    except TimeoutError:
        raise NotDelivered(name, f"it did not answer within {seconds:.0f} s") from None
    except UnicodeEncodeError:
        raise NotDelivered(name, "its token holds what no header can: write it in ASCII") from None
    except AgentUnreachable:
        raise NotDelivered(name, "nothing that may be called is there") from None
    # httpx leaves some of what TLS and names raise as it is.
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
        raise NotDelivered(name, f"it cannot be reached ({type(error).__name__})") from None
    if not 200 <= status < 300:
        raise NotDelivered(name, f"it answered {status}")


class MailHandles:
    """Second handles of a letter's connections, by which whoever has waited enough ends them: under TLS and before it
    alike, and those too that come only then.
    """

    def __init__(self) -> None:
        self._held: list[socket.socket] = []
        self._over = False
        self._lock = threading.Lock()

    def take(self, connection: socket.socket) -> None:
        with self._lock:
            self._held.append(connection.dup())
            over = self._over
        if over:
            self.break_off()

    def break_off(self) -> None:
        """Whatever waits for the other side gets an error now."""
        with self._lock:
            self._over = True
            for handle in self._held:
                with contextlib.suppress(OSError):
                    handle.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with self._lock:
            for handle in self._held:
                handle.close()


def _opener(tls: bool, opened: MailHandles) -> type[smtplib.SMTP]:
    """smtplib's client, which leaves a second handle of its connection in `opened` as soon as there is one. Its timeout
    is one for each byte: a server that drips would hold its thread for ever.
    """

    class Plain(smtplib.SMTP):
        def _get_socket(self, *arguments: Any) -> Any:
            connection = super()._get_socket(*arguments)  # type: ignore[misc]  # as smtplib's own subclass does
            opened.take(connection)
            return connection

    class Encrypted(smtplib.SMTP_SSL, Plain):
        pass

    return Encrypted if tls else Plain


@dataclass
class Mail:
    """One letter at a time, by a thread that ends with the wait for it."""

    server: MailServer
    to: str
    name: str = "mail"
    seconds: float = SECONDS
    trust: Callable[[], ssl.SSLContext] = ssl.create_default_context

    async def send(self, alert: Mapping[str, Any]) -> None:
        password = self.server.password.read() if self.server.password is not None else ""
        letter, opened = letter_of(alert, self.server.sender, self.to), MailHandles()
        sending = asyncio.create_task(asyncio.to_thread(self._deliver, opened, letter, password))
        late: set[asyncio.Task[None]] = set()
        try:
            _, late = await asyncio.wait({sending}, timeout=self.seconds)
            if late:
                opened.break_off()
            await sending
        except asyncio.CancelledError:
            opened.break_off()
            raise
        except (OSError, smtplib.SMTPException, ValueError) as error:
            slow = f"it did not answer within {self.seconds:.0f} s"
            why = slow if late else f"it was not taken ({type(error).__name__})"
            raise NotDelivered(self.name, why) from None
        finally:
            opened.close()

    def _deliver(self, opened: MailHandles, letter: EmailMessage, password: str) -> None:
        settings, context = self.server, self.trust()
        more: dict[str, Any] = {"context": context} if settings.tls == "tls" else {}
        client = _opener(settings.tls == "tls", opened)
        with client(settings.host, settings.at, timeout=self.seconds, **more) as server:
            if settings.tls == "starttls":
                server.starttls(context=context)
            if settings.user is not None:
                server.login(settings.user, password)
            server.send_message(letter, to_addrs=[self.to])  # one, however its head is read


def letter_of(alert: Mapping[str, Any], sender: str, to: str) -> EmailMessage:
    """The alert as a letter. What it may be ended by (`stop_post`) stands in its head, too (RFC 8058)."""
    letter = EmailMessage(_LETTER)
    letter["Subject"] = title_of(alert)
    letter["From"], letter["To"] = sender, to
    letter["Auto-Submitted"] = "auto-generated"  # or somebody's “I am on leave” comes back
    if alert.get("stop_post"):
        letter["List-Unsubscribe"] = f"<{alert['stop_post']}>"
        letter["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    letter["Message-ID"] = (
        f"<{alert['id']}@leasehold.invalid>"  # a letter that is sent twice is seen to be one
    )
    letter.set_content(f"{text_of(alert)}\n")
    return letter


def text_of(alert: Mapping[str, Any]) -> str:
    """What it says, and where it is ended, if that is known."""
    return f"{alert['said']}\n\nNo more of it: {alert['stop']}" if alert.get("stop") else str(alert["said"])


def title_of(alert: Mapping[str, Any]) -> str:
    """A few words for a subject."""
    about = f", lease {alert['lease']}" if alert.get("lease") else ""
    return harmless(f"Leasehold: {str(alert['kind']).replace('-', ' ')}{about}", 120)
