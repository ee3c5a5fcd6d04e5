"""One IPFS node's RPC API, as blocking calls, each with a limit to its time.

Commands with short answers go through `ipfshttpclient.Client`. Streams go through `http.client`, for three things
that the library does not give: reading into a buffer of ours, a connection that another thread can cut, and an answer
that is read while the body is still being sent (Kubo answers `add` file by file, and stops reading when nobody takes
the answers).
"""

import contextlib
import http.client
import json
import socket
import threading
import warnings
from collections.abc import Generator, Iterator, Sequence
from typing import Any, Final, Protocol, cast
from urllib.parse import urlencode, urlsplit

from leasehold.datasets._unixfs import MAX_BLOCK, Cid
from leasehold.errors import DatasetCorrupt, DatasetError, DatasetUnavailable, IpfsError, IpfsUnreachable

# The library passes urllib3 an argument of Python 2's days, which urllib3 2 mentions at every connection.
warnings.filterwarnings("ignore", "The 'strict' parameter is no longer needed", FutureWarning)

_MAX_ANSWER: Final = 64 * 1024
_KNOCK_SECONDS: Final = 5
_SEND: Final = 1 << 20
_NOT_FOUND: Final = ("context deadline exceeded", "not found", "could not find", "no such file", "timed out")


class Cancelled(DatasetError):
    """The caller gave up; nobody sees this."""

    code = "cancelled"


class Cancellation:
    """Lets one thread end what others do: they check it between chunks, and their connections are cut."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        self._set = False

    def cancel(self) -> None:
        with self._lock:
            self._set = True
            for connection in self._sockets:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def check(self) -> None:
        """Raises Cancelled once `cancel` was called."""
        if self._set:
            raise Cancelled("The transfer was cancelled", "start it again to go on.")

    @contextlib.contextmanager
    def cutting(self, connection: socket.socket) -> Iterator[None]:
        with self._lock:
            self._sockets.add(connection)
        try:
            self.check()
            yield
        finally:
            with self._lock:
                self._sockets.discard(connection)


class Stream(Protocol):
    """What a streamed answer can do."""

    def readinto(self, buffer: memoryview, /) -> int: ...

    def readline(self, limit: int, /) -> bytes: ...

    def read(self, limit: int, /) -> bytes: ...


class IpfsNode:
    """The node at `api`, a multiaddr such as `/ip4/127.0.0.1/tcp/5001`. Safe to use from several threads."""

    def __init__(self, api: str, timeout: float) -> None:
        # Here and not above: a command that needs no node need not wait for its library.
        import ipfshttpclient
        from ipfshttpclient import exceptions
        from ipfshttpclient.http_common import multiaddr_to_url_data

        self.api = api
        self.timeout = timeout
        self._errors = exceptions
        try:
            self._client = ipfshttpclient.Client(api, timeout=timeout)
            url, unix_path, _, _ = multiaddr_to_url_data(api, "api/v0")
        except exceptions.AddressError as error:
            raise IpfsUnreachable(api, "it is no multiaddr such as /ip4/127.0.0.1/tcp/5001") from error
        if unix_path is not None:
            raise IpfsUnreachable(api, "only TCP addresses are served")
        parts = urlsplit(url)
        self._secure = parts.scheme == "https"
        self._host, self._port, self._base = parts.hostname or "", parts.port or 5001, parts.path.rstrip("/")

    # ---------------------------------------------------------------------------------------------- commands

    def command(
        self, name: str, *args: str, body: bytes | None = None, content_type: str = "", **options: str
    ) -> list[dict[str, Any]]:
        """One command's answers.

        Raises IpfsUnreachable, IpfsError.
        """
        headers = {"Content-Type": content_type} if body is not None else {}
        errors = self._errors
        try:
            # swarm.connect of the library splits its address into letters, so every command takes this door.
            answer = self._client._client.request(
                f"/{name}", list(args), opts=options, decoder="json", data=body, headers=headers
            )
        except errors.TimeoutError as error:
            raise self._timed_out("", name, self.timeout) from error
        except (errors.ErrorResponse, errors.StatusError, errors.EncoderError) as error:
            raise self._refused("", name, str(error)) from error
        except errors.Error as error:
            raise IpfsUnreachable(self.api, _short(error)) from error
        return cast(list[dict[str, Any]], answer)

    # ----------------------------------------------------------------------------------------------- streams

    def block(self, cid: Cid, timeout: float, cancellation: Cancellation) -> bytes:
        """A block, checked against its CID.

        Raises DatasetUnavailable, DatasetCorrupt, IpfsUnreachable, IpfsError.
        """
        if cid.inline is not None:
            return cid.inline
        if cid.matches(b""):
            return b""  # nodes never send an empty block to one another
        try:
            block = self._block(cid, timeout / 2, cancellation)
        except DatasetUnavailable:
            # A node now and then loses sight of a wish it sent out, and takes it up only when asked anew.
            block = self._block(cid, timeout / 2, cancellation)
        if len(block) > MAX_BLOCK:
            raise DatasetCorrupt(cid.text, "the block is larger than blocks can be")
        if not cid.matches(block):
            raise DatasetCorrupt(cid.text, "the block has another hash")
        return block

    def _block(self, cid: Cid, timeout: float, cancellation: Cancellation) -> bytes:
        with self.stream("block/get", cid.text, timeout, cancellation) as source:
            block = source.read(MAX_BLOCK + 1)
            if len(block) <= MAX_BLOCK and getattr(source, "length", None):
                raise ConnectionError("the block broke off")
            return block

    @contextlib.contextmanager
    def stream(
        self,
        command: str,
        cid: str,
        timeout: float,
        cancellation: Cancellation,
        others: Sequence[str] = (),
        **options: str,
    ) -> Iterator[Stream]:
        """The body of an answer that names a CID, or `others` after it. `timeout` seconds without a byte end it.

        Raises DatasetUnavailable(cid), IpfsUnreachable, IpfsError; while reading too.
        """
        query = [("arg", argument) for argument in (cid, *others)] + list(options.items())
        with self._connected(timeout, cancellation, cid) as connection:
            connection.request("POST", f"{self._base}/{command}?{urlencode(query)}")
            with contextlib.closing(connection.getresponse()) as response:
                if response.status != http.client.OK:
                    raise self._refused(cid, command, _message(response.read(_MAX_ANSWER)))
                yield cast(Stream, response)

    def lines(
        self, command: str, cid: str, timeout: float, cancellation: Cancellation, **options: str
    ) -> Generator[dict[str, Any], None, None]:
        """The lines of an answer as they come. Raises as `stream` does."""
        with self.stream(command, cid, timeout, cancellation, **options) as source:
            while line := source.readline(_MAX_ANSWER):
                answer = json.loads(line)
                if "Message" in answer:
                    raise self._refused(cid, command, str(answer["Message"]))
                yield answer

    def add(
        self,
        body: Iterator[bytes],
        content_type: str,
        options: dict[str, str],
        timeout: float,
        cancellation: Cancellation,
    ) -> Iterator[dict[str, Any]]:
        """Sends `body` to `add`; the node's answers, of which the last names the root.

        Raises IpfsUnreachable, IpfsError, and what `body` raises.
        """
        answers: list[dict[str, Any]] = []
        with self._connected(timeout, cancellation, "") as connection:
            connection.putrequest("POST", f"{self._base}/add?{urlencode(options)}")
            connection.putheader("Content-Type", content_type)
            connection.putheader("Transfer-Encoding", "chunked")
            connection.endheaders()
            reader = _AnswerReader(connection)
            reader.start()
            try:
                for chunk in _gathered(body):
                    cancellation.check()
                    connection.send(b"%x\r\n" % len(chunk) + chunk + b"\r\n")
                connection.send(b"0\r\n\r\n")
            except BaseException as error:
                # A body that broke off must not end as a whole one: the node sees the connection go.
                with contextlib.suppress(OSError):
                    connection.sock.shutdown(socket.SHUT_RDWR)
                reader.join()
                if isinstance(error, OSError) and reader.status >= http.client.BAD_REQUEST:
                    raise self._refused("", "add", _message(b"".join(reader.lines))) from error
                raise
            reader.join()
            if reader.status != http.client.OK:
                if reader.error is not None:
                    raise reader.error
                raise self._refused("", "add", _message(b"".join(reader.lines)))
            answers = [json.loads(line) for line in reader.lines if line.strip()]
        for answer in answers:
            if "Message" in answer:
                raise IpfsError("add", str(answer["Message"]))
        yield from answers

    @contextlib.contextmanager
    def _connected(
        self, timeout: float, cancellation: Cancellation, cid: str
    ) -> Iterator[http.client.HTTPConnection]:
        cancellation.check()
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=timeout)
        try:
            try:
                connection.connect()
            except OSError as error:
                raise IpfsUnreachable(self.api, _short(error)) from error
            with cancellation.cutting(connection.sock):
                yield connection
        except TimeoutError as error:
            raise self._timed_out(cid if self._answers() else "", "add", timeout) from error
        except (OSError, http.client.HTTPException) as error:
            cancellation.check()  # a stream that breaks off says something of the node and nothing of the data
            raise IpfsUnreachable(self.api, _short(error)) from error
        finally:
            connection.close()

    # ------------------------------------------------------------------------------------------------ errors

    def _answers(self) -> bool:
        """Whether the node itself is well: where it is not, that nothing came says nothing of what others have."""
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        with contextlib.closing(kind(self._host, self._port, timeout=_KNOCK_SECONDS)) as connection:
            try:
                connection.request("POST", f"{self._base}/version")
                return connection.getresponse().status == http.client.OK
            except (OSError, http.client.HTTPException):
                return False

    def _timed_out(self, cid: str, command: str, seconds: float) -> DatasetError:
        if cid:
            return DatasetUnavailable(cid)
        return IpfsUnreachable(self.api, f"no answer to {command} within {seconds:.0f} s")

    def _refused(self, cid: str, command: str, message: str) -> DatasetError:
        if cid and any(sign in message.lower() for sign in _NOT_FOUND):
            return DatasetUnavailable(cid)
        return IpfsError(command, message)


class _AnswerReader(threading.Thread):
    """Takes the node's answers while the body is on its way. Keeps the last few and every error."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        super().__init__(name="leasehold-ipfs-add", daemon=True)
        self._socket = connection.sock
        self.status = 0
        self.lines: list[bytes] = []
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            with http.client.HTTPResponse(self._socket, method="POST") as response:
                response.begin()
                self.status = response.status
                while line := response.readline(_MAX_ANSWER):
                    self.lines = [*self.lines[-1:], line]
        except (OSError, http.client.HTTPException) as error:
            self.status, self.error = 0, error


def fill(source: Stream, buffer: memoryview) -> int:
    """Reads until `buffer` is full or `source` ends; how many bytes."""
    at = 0
    while at < len(buffer) and (count := source.readinto(buffer[at:])):
        at += count
    return at


def _gathered(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Small chunks as larger ones: a folder of many small files would be as many packets."""
    parts: list[bytes] = []
    size = 0
    for chunk in chunks:
        parts.append(chunk)
        size += len(chunk)
        if size >= _SEND:
            yield b"".join(parts)
            parts, size = [], 0
    if parts:
        yield b"".join(parts)


def _message(body: bytes) -> str:
    try:
        return str(json.loads(body)["Message"])
    except (ValueError, KeyError, TypeError):
        return body.decode("utf-8", "replace").strip()[:500] or "no reason given"


def _short(error: Exception) -> str:
    reason = getattr(error, "original", None) or error
    return str(getattr(reason, "strerror", None) or type(reason).__name__)
