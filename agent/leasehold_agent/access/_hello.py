"""A connection's first words, looked at before anything is made of it.

Looking costs some microseconds, where a TLS or SSH server's side of a connection costs a hundred times as much. The
words stay in the socket for who reads them next.
"""

from __future__ import annotations

import re
import socket
from typing import Final

_HANDSHAKE: Final = 0x16
_HEAD: Final = 5
_MOST: Final = 1 << 14
"""Bytes of a TLS record."""
_PEER: Final = re.compile(rb"[A-Za-z0-9]{20,100}")
_MOST_PEER: Final = 101


class NoHello(ConnectionError):
    """It has closed, or speaks another protocol."""


def missing(connection: socket.socket, *, tls: bool) -> int:
    """How many bytes in all there must be to see whether the first words are there; 0 when they are.

    They are a whole first record of TLS, or any byte without. Raises `NoHello`.
    """
    try:
        said = connection.recv(_HEAD + _MOST if tls else 1, socket.MSG_PEEK)
    except BlockingIOError:
        return _HEAD if tls else 1
    except OSError as error:
        raise NoHello(str(error)) from None
    if not said or (tls and said[0] != _HANDSHAKE):
        raise NoHello("These are not the first words of a client of this port.")
    if not tls:
        return 0
    if len(said) < _HEAD:
        return _HEAD
    whole = _HEAD + int.from_bytes(said[3:_HEAD], "big")
    if whole > _HEAD + _MOST:
        raise NoHello("No record is that long.")
    return whole if len(said) < whole else 0


def introduction(connection: socket.socket) -> tuple[str, int]:
    """The peer that the IPFS node says is calling, in a line of its own that is taken from the words; or, while that is
    not there, how many bytes there must be to look again. Raises `NoHello`.
    """
    try:
        said = connection.recv(_MOST_PEER, socket.MSG_PEEK)
    except BlockingIOError:
        return "", 1
    except OSError as error:
        raise NoHello(str(error)) from None
    peer, newline, _ = said.partition(b"\n")
    if not newline and said.isalnum() and len(said) < _MOST_PEER:
        return "", len(said) + 1
    if not newline or not _PEER.fullmatch(peer):
        raise NoHello("This is no introduction by an IPFS node.")
    connection.recv(len(peer) + 1)
    return peer.decode(), 0
