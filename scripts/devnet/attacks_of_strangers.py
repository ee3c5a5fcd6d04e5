"""What somebody without a lease does to a machine's ports."""

from __future__ import annotations

import asyncio
import contextlib
import secrets

import asyncssh

from devnet.attack import Attack, Begin

_HELLO = b"GET /v1/health HTTP/1.1\r\nHost: x\r\n"


def silent_connections(attack: Attack) -> None:
    attack.hold(attack.api, 1_100)


def silent_logins(attack: Attack) -> None:
    attack.hold(attack.ssh, 600, first=b"SSH-2.0-x\r\n")


def mute_at_the_ssh_port(attack: Attack) -> None:
    attack.hold(attack.ssh, 600)


def half_a_handshake(attack: Attack) -> None:
    attack.hold(attack.api, 400, first=b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")


def half_a_header(attack: Attack) -> None:
    attack.hold(attack.api, 300, first=_HELLO + b"X-Slow: ", tls=True)


def garbage(attack: Attack) -> None:
    def throw() -> None:
        attack.connect(attack.api, first=secrets.token_bytes(8_192)).close()
        attack.bit()

    attack.again(throw, 4)


def health_without_end(attack: Attack) -> None:
    attack.hold(attack.api, 32, first=(_HELLO + b"\r\n") * 64, tls=True)


def the_whole_machine_without_end(attack: Attack) -> None:
    asked = b"GET /v1/machine HTTP/1.1\r\nHost: x\r\n\r\n" * 16
    attack.hold(attack.api, 32, first=asked, tls=True)


def signatures_to_check(attack: Attack) -> None:
    """Each costs the agent a recovery, of an account that nobody knows."""
    digest = secrets.token_hex(32)
    head = f"PUT /v1/workloads/{digest} HTTP/1.1\r\nHost: x\r\nAuthorization: Leasehold ".encode()
    attack.hold(attack.api, 64, first=head + b"A" * 400 + b"\r\nContent-Length: 0\r\n\r\n", tls=True)


def bodies_that_never_come(attack: Attack) -> None:
    head = f"PUT /v1/workloads/{'0' * 64} HTTP/1.1\r\nHost: x\r\nContent-Length: 1048576\r\n\r\n".encode()
    attack.hold(attack.api, 200, first=head + bytes(100), tls=True)


def a_body_in_crumbs(attack: Attack) -> None:
    """Chunked, a byte each, so that no length is known and every chunk is parsed."""
    head = f"PUT /v1/workloads/{'1' * 64} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    attack.hold(attack.api, 64, first=head + b"1\r\nx\r\n" * 2_000, tls=True)


def a_header_without_end(attack: Attack) -> None:
    def pour() -> None:
        with contextlib.closing(attack.connect(attack.api, first=_HELLO, tls=True)) as made:
            attack.bit()
            for number in range(2_000):
                made.sendall(f"X-{number}: {'y' * 4_000}\r\n".encode())

    attack.again(pour, 2)


def odd_requests(attack: Attack) -> None:
    """Of methods, paths and versions that nobody has."""
    asked = b"BREW /v1/%ff%00/../../\xc3\xa9 HTTP/9.9\r\nHost: x\r\nContent-Length: -1\r\n\r\n"
    attack.hold(attack.api, 64, first=asked, tls=True)


def sockets_of_the_web(attack: Attack) -> None:
    """Upgrades without a word of who asks."""
    ask = b"GET /v1/leases/1/exec HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    key = b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    attack.hold(attack.api, 64, first=ask + key, tls=True)


def handshakes_without_end(attack: Attack) -> None:
    """Each costs the agent a signature."""

    def shake() -> None:
        attack.connect(attack.api, tls=True).close()
        attack.bit()

    attack.again(shake, 4)


def keys_that_open_nothing(attack: Attack) -> None:
    """The whole of SSH's key exchange, and then a key that no lease names."""
    stranger = attack.ground.key.with_name("stranger")

    def knock() -> None:
        try:
            asyncio.run(attack.login(stranger))
        except asyncssh.PermissionDenied:
            attack.bit()

    attack.again(knock, 2)


STRANGERS: tuple[Begin, ...] = (
    silent_connections,
    silent_logins,
    mute_at_the_ssh_port,
    half_a_handshake,
    half_a_header,
    garbage,
    health_without_end,
    the_whole_machine_without_end,
    signatures_to_check,
    bodies_that_never_come,
    a_body_in_crumbs,
    a_header_without_end,
    odd_requests,
    sockets_of_the_web,
    handshakes_without_end,
    keys_that_open_nothing,
)
