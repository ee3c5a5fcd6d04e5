"""The Docker engine, asynchronously: what the agent asks of it and nothing else.

The SDK blocks, so each call runs in a thread. Calls say what should be so, not what to do: creating what
exists and removing what does not are no errors, so that a step which was interrupted can be done again.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeVar
from urllib.parse import urlsplit

import docker
import requests
import structlog
from docker import auth
from docker.errors import APIError, DockerException, ImageNotFound, NotFound

from leasehold_agent._errors import EngineDown, EngineRefused
from leasehold_agent.engine._containers import (
    ContainerFacts,
    ContainerSpec,
    Limits,
    facts_of,
    nano,
    options_of,
)
from leasehold_agent.engine._errands import Errands
from leasehold_agent.engine._facts import EngineFacts, read_facts
from leasehold_agent.engine._image_archive import Surveyed, survey
from leasehold_agent.engine._kept import (
    ReaderSpec,
    drop,
    forget,
    keep,
    kept_for,
    open_reader,
    volumes_of,
    written,
)
from leasehold_agent.engine._layer_place import layer_place
from leasehold_agent.engine._local_image import (
    LocalImage,
    archive_without_volumes,
    config_with,
    image_of,
    keeps_layers_itself,
)
from leasehold_agent.engine._networks import find_network, join, make_network
from leasehold_agent.engine._pull import pull
from leasehold_agent.engine._sightings import Sightings
from leasehold_agent.engine._streams import EngineStreams
from leasehold_agent.engine._tars import Bounded, tar_of_folder
from leasehold_agent.host import AddressBlocks, LayerPlace

T = TypeVar("T")
_log = structlog.get_logger("leasehold_agent")
Client = Any
"""`docker.APIClient`, whose stubs leave half of its methods untyped."""
CALL_SECONDS = 120
_AT_ONCE, _LONG_AT_ONCE = 16, 128
"""Threads for calls that the engine answers at once, and for those that last as long as a tenant or a registry likes:
a container that is stopped with its grace, an image that comes slowly. None of these may keep the others waiting."""
_CONFLICT, _NOT_FOUND, _NOT_PAUSED = 409, 404, 500
_EVENTS_SECONDS = 10
_DYING_SECONDS = 5
_LOG_LINES = 512
OURS = "leasehold/ipfs:"
"""What images are called that came in archives and have no other name."""
_ENDING = frozenset({"2", "3", "9", "15"})
_LOADED = re.compile(r"^Loaded image(?: ID)?: (\S+)", re.MULTILINE)


class Engine:
    """One Docker engine. Every method raises EngineDown while it does not answer, EngineRefused when
    it answers that something cannot be done.

    blocks: finds addresses for networks. `streams` are commands inside containers and their logs, which
    nobody's thread waits for. call_seconds: the longest that one answer is waited for.
    """

    def __init__(
        self, url: str, blocks: AddressBlocks | None = None, *, call_seconds: int = CALL_SECONDS
    ) -> None:
        self.url = url
        self._call_seconds = call_seconds
        self.streams = EngineStreams(url)
        self._client: Client | None = None
        self._blocks = blocks or AddressBlocks()
        self._networking = threading.Lock()
        self._sightings = Sightings()
        self._short = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="leasehold-engine")
        self._long = Errands(_LONG_AT_ONCE, "leasehold-engine-long")

    @property
    def socket(self) -> Path | None:
        """Where it listens on this host; None where it is reached over a network."""
        address = urlsplit(self.url)
        return Path(address.path) if address.scheme == "unix" else None

    async def aclose(self) -> None:
        self.close()
        await self.streams.aclose()

    def close(self) -> None:
        """All but the streams: for who has opened none."""
        self._short.shutdown(wait=False, cancel_futures=True)
        self._long.shutdown(wait=False, cancel_futures=True)
        if self._client is not None:
            self._client.close()
            self._client = None

    # ------------------------------------------------------------------------------------------ the host

    async def facts(self) -> EngineFacts:
        return await self._call(read_facts)

    # ------------------------------------------------------------------------------------------ images

    async def image_size(self, image: str) -> int | None:
        """Bytes of a local image by id or reference, or None if it is not here."""

        def ask(client: Client) -> int | None:
            with contextlib.suppress(ImageNotFound):
                return int(client.inspect_image(image)["Size"])
            return None

        return await self._call(ask)

    async def local_image(self, image: str) -> LocalImage | None:
        """A local image by id or reference, or None if it is not here."""

        def ask(client: Client) -> LocalImage | None:
            known = _inspected(client, image)
            return None if known is None else image_of(known)

        return await self._call(ask)

    async def without_volumes(self, image: str) -> str:
        """The id of a local image's like that declares no volumes. Raises EngineRefused where it cannot be made."""

        def load(client: Client) -> str:
            known = _inspected(client, image)
            if known is None:
                raise EngineRefused("the image is gone")
            if not keeps_layers_itself(client.info()):
                raise EngineRefused("its image store wants every layer anew")
            lines = list(client.load_image(archive_without_volumes(known)))
            loaded = _LOADED.findall("\n".join(str(line.get("stream", "")) for line in lines))
            if len(loaded) != 1:
                raise EngineRefused("the engine has made no image of it")
            return str(client.inspect_image(loaded[0])["Id"])

        return await self._call(load, long=True)

    async def images(self) -> list[tuple[str, str]]:
        """(id, first tag) of every tagged local image."""

        def ask(client: Client) -> list[tuple[str, str]]:
            return [(i["Id"], i["RepoTags"][0]) for i in client.images() if i.get("RepoTags")]

        tagged = await self._call(ask)
        return sorted((i, tag) for i, tag in tagged if "<none>" not in tag)

    async def image_ids(self) -> set[str]:
        """Of every image that it has, tagged or not."""
        return await self._call(lambda client: {image["Id"] for image in client.images()})

    async def survey(self, archive: Path, limit: int) -> Surveyed:
        """Look at all of an archive, beside whatever else takes long. Raises what `survey` does."""
        given_up = threading.Event()
        looking = asyncio.get_running_loop().run_in_executor(
            self._long, survey, archive, limit, given_up.is_set
        )
        try:
            return await looking
        finally:
            given_up.set()  # nobody waits any more: the thread ends with the next bytes

    async def config_with(self, image: str, layers: Sequence[str]) -> bytes:
        """The configuration of an image like a local one, of other layers. Raises EngineRefused where that is gone."""

        def ask(client: Client) -> bytes:
            if (known := _inspected(client, image)) is None:
                raise EngineRefused("the image that the container was made of is gone")
            return config_with(known, layers)

        return await self._call(ask)

    async def load_image(self, archive: Surveyed, name: str | None) -> str:
        """Load an archive's image; its id. It is called `name`, if that is given, unless it has one by which it is
        known here.
        """

        def load(client: Client) -> str:
            said = "\n".join(str(line.get("stream", "")) for line in client.load_image(archive.stream()))
            loaded = _LOADED.findall(said)
            if len(loaded) != 1:
                raise EngineRefused("the engine has made no image of it")
            loaded_image = client.inspect_image(loaded[0])
            if name is not None and not loaded_image.get("RepoTags"):
                client.tag(loaded_image["Id"], *name.rsplit(":", 1))
            return str(loaded_image["Id"])

        return await self._call(load, long=True)

    async def forget_image(self, image: str) -> bool:
        """Remove an image, unless a container needs it, one that has ended too, or its owner has given it a name.
        Whether it is gone.
        """

        def forget(client: Client) -> bool:
            known = _inspected(client, image)
            if known is None:
                return True
            by_id = image == known["Id"]
            if by_id and any(not tag.startswith(OURS) for tag in known.get("RepoTags") or ()):
                return False
            # By its id it is removed from under what has ended.
            if client.containers(all=True, quiet=True, filters={"ancestor": known["Id"]}):
                return False
            try:
                client.remove_image(image, force=by_id)
            except APIError as error:
                if error.response is None or error.response.status_code != _CONFLICT:
                    raise
                return False
            return True

        return await self._call(forget)

    async def pull(
        self,
        reference: str,
        limit: int,
        room: Callable[[], int],
        *,
        key: bytes | None = None,
        told: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Pull `registry/name@sha256:…`. EngineRefused when the registry has no such image for whoever has `key`;
        ImageTooLarge, NoRoom once `room` says that nothing is left. `told` hears how far it is.
        """
        await pull(self.url, reference, key, limit, room, told)

    async def owners_key(self, reference: str) -> bytes | None:
        """What the owner of this host shows to the image's registry, if he is logged in there (`docker login`)."""
        registry, _ = auth.resolve_repository_name(reference)

        def ask(client: Client) -> bytes | None:
            key: bytes | None = auth.get_config_header(client, registry)
            return key

        return await self._call(ask)

    # ------------------------------------------------------------------------------------------ networks

    async def ensure_network(self, name: str, bridge: str, labels: Mapping[str, str]) -> None:
        """A bridge network of the lease's own, with the bridge's name fixed so that rules can be written first, and
        addresses that nothing else here has. Raises NetworkError where none are left.
        """

        def ensure(client: Client) -> None:
            with self._networking:
                if find_network(client, name) is None:
                    make_network(client, name, bridge, labels, self._blocks)

        await self._call(ensure, ignore=(_CONFLICT,))

    async def join(self, name: str, network: str) -> None:
        """Put a container that does not run on the network that has this name now."""
        await self._call(lambda client: join(client, name, network))

    async def remove_network(self, name: str) -> None:
        await self._call(lambda client: client.remove_network(name), ignore=(_NOT_FOUND,))

    async def networks(self, label: str) -> list[str]:
        """Names of the networks that carry `label` ("key=value")."""
        return await self._call(lambda client: [n["Name"] for n in client.networks(filters={"label": label})])

    # ------------------------------------------------------------------------------------------ containers

    async def containers(self, label: str) -> list[ContainerFacts]:
        """Every container, stopped ones too, that carries `label` ("key=value")."""

        def ask(client: Client) -> list[ContainerFacts]:
            return self._sightings.of(
                client.containers(all=True, filters={"label": label}), client.inspect_container, label
            )

        return await self._call(ask)

    async def inspect(self, name: str) -> ContainerFacts | None:
        def ask(client: Client) -> ContainerFacts | None:
            with contextlib.suppress(NotFound):
                return facts_of(client.inspect_container(name))
            return None

        return await self._call(ask)

    async def create(self, spec: ContainerSpec) -> None:
        """Create the container unless one of that name exists."""

        def create(client: Client) -> None:
            options, labels = options_of(client, spec), dict(spec.labels)
            with contextlib.suppress(NotFound):
                client.inspect_container(spec.name)
                return
            client.create_container(labels=labels, **options)

        await self._call(create, ignore=(_CONFLICT,))

    async def make_folders(self, name: str, folders: Sequence[str]) -> None:
        """Make those of `folders` that the container has not, for every user in it to write to."""

        def make(client: Client) -> None:
            for folder in folders:
                try:
                    chunks, _ = client.get_archive(name, folder)
                    chunks.close()
                except NotFound:
                    client.put_archive(name, "/", tar_of_folder(folder))

        await self._call(make)

    async def layer_place(self, name: str, root: Path, seen: Callable[[Path], Path]) -> LayerPlace | None:
        """Where on this host the files of a container lie; None where that cannot be told. root: where the engine keeps
        its data, as `seen` from here.
        """
        if self.socket is None:
            return None
        return await self._call(lambda client: layer_place(client.inspect_container(name), root, seen))

    async def unpack(self, name: str, tar: Callable[[], Iterator[bytes]]) -> None:
        """Unpack a tar of the agent's own making into a container that has never run: nothing in there can change
        meanwhile where a path leads. What `tar` raises comes through.
        """
        given_up = threading.Event()

        def put(client: Client) -> None:
            def chunks() -> Iterator[bytes]:
                for chunk in tar():
                    if given_up.is_set():
                        raise EngineRefused("nobody waits for it any more")
                    yield chunk

            client.put_archive(name, "/", chunks())

        try:
            await self._call(put, long=True)
        finally:
            given_up.set()

    async def start(self, name: str) -> None:
        await self._call(lambda client: client.start(name))

    async def signal(self, name: str, signal: str) -> None:
        """Send the container's first process a signal that ends no program; one that does not run gets none."""
        await self._call(lambda client: client.kill(name, signal=signal), ignore=(_NOT_FOUND, _CONFLICT))

    async def kill(self, name: str) -> None:
        """SIGKILL, without grace; returns once the engine has seen its end, or has waited for that. One that does not
        run gets none.
        """
        await self._call(lambda client: client.kill(name), ignore=(_NOT_FOUND, _CONFLICT), long=True)

    async def pause(self, name: str) -> None:
        """Let all processes of a container stand still. Raises EngineRefused: it does not run, or does already."""
        await self._call(lambda client: client.pause(name))

    async def unpause(self, name: str) -> None:
        """Let a paused container go on."""
        await self._call(lambda client: client.unpause(name), ignore=(_NOT_FOUND, _CONFLICT, _NOT_PAUSED))

    async def killed_from_outside(self, container: ContainerFacts) -> bool:
        """Whether the engine sent the container a signal that ends programs since it was started last.

        Of a command that ends by itself the engine tells no such event. It forgets events when it ends itself.
        """

        def ask(client: Client) -> bool:
            # Never a moment that is to come: the engine would wait for it, and it may be about to end itself.
            since, until = int(container.started_at), f"{time.time():.6f}"
            filters = {"container": container.id, "event": "kill"}
            told = client.events(since=since, until=until, filters=filters, decode=True)
            signals = [event["Actor"]["Attributes"].get("signal") for event in told]
            return any(signal in _ENDING for signal in signals)

        try:
            async with asyncio.timeout(_EVENTS_SECONDS):
                return await self._call(ask)
        except TimeoutError:
            raise EngineDown(f"The Docker engine at {self.url} does not tell what has happened.") from None

    async def update(self, name: str, limits: Limits) -> None:
        """Other limits for a container, at once. EngineRefused where its memory cannot be had back."""

        def update(client: Client) -> None:
            # The SDK's own `update_container` has no way to say cores, and the engine takes no other unit beside them.
            url = client._url("/containers/{0}/update", name)
            memory = {"Memory": limits.memory_bytes, "MemorySwap": limits.memory_bytes}
            answer = client._post_json(url, data={"NanoCpus": nano(limits.cpus), **memory})
            client._result(answer, json=True)

        await self._call(update)

    async def keep(self, name: str, label: str) -> str:
        """An image without a name of all that a container has written; returns its id. It carries `label`. One that
        nobody waits for any more does not stay.
        """
        making = asyncio.ensure_future(self._call(lambda client: keep(client, name, label), long=True))
        try:
            return await asyncio.shield(making)
        except asyncio.CancelledError:
            making.add_done_callback(self._drop_image)
            raise

    def _drop_image(self, made: asyncio.Future[str]) -> None:
        if not made.cancelled() and made.exception() is None:
            with contextlib.suppress(RuntimeError):  # the agent ends: it goes with its lease
                remove = partial(drop, image=made.result())
                self._long.submit(self._blocking, remove, (_NOT_FOUND, _CONFLICT))

    async def forget(self, label: str) -> None:
        """Remove the images that `keep` made with `label`, where no container needs them."""
        await self._call(lambda client: forget(client, label))

    async def kept_for(self, key: str) -> set[str]:
        """What images that `keep` made say under the label `key`."""
        return await self._call(lambda client: kept_for(client, key))

    async def written(self, name: str, base: str | None = None) -> int:
        """Bytes that a container has written; with `base`, all that it holds beside that image. The engine looks
        through all of it.
        """
        return await self._call(lambda client: written(client, name, base), long=True)

    async def volumes_of(self, name: str) -> tuple[tuple[str, str], ...]:
        """(name, path) of the volumes that the engine made for a container, because its image declares them."""
        return await self._call(lambda client: volumes_of(client, name))

    async def open_reader(self, spec: ReaderSpec) -> str | None:
        """A container in which nothing can be written; its id, or None where the image has no shell."""
        return await self._call(lambda client: open_reader(client, spec), long=True)

    async def stop(self, name: str, grace: int) -> None:
        """SIGTERM, and SIGKILL after `grace` seconds; what does not die of that within a few more is hastened."""
        call = self._call(lambda client: client.stop(name, timeout=grace), ignore=(_NOT_FOUND,), long=True)
        stopping = asyncio.ensure_future(call)
        try:
            await asyncio.wait({stopping}, timeout=grace + _DYING_SECONDS)
            if not stopping.done() or isinstance(stopping.exception(), EngineRefused):
                await self.hasten(name)
            await stopping
        finally:
            stopping.cancel()

    async def hasten(self, name: str) -> None:
        """All of the host's cores to a container, and SIGKILL: thousands of processes on a hundredth of a core are
        sentenced at once, but none is ever given the time to die.
        """

        def hasten(client: Client) -> None:
            cores = int(client.info()["NCPU"])
            answer = client._post_json(
                client._url("/containers/{0}/update", name), data={"NanoCpus": nano(cores)}
            )
            client._result(answer, json=True)
            client.kill(name)

        await self._call(hasten, ignore=(_NOT_FOUND, _CONFLICT), long=True)

    async def remove(self, name: str) -> None:
        await self._call(
            lambda client: client.remove_container(name, force=True, v=True),
            ignore=(_NOT_FOUND, _CONFLICT),
            long=True,
        )

    async def log_end(self, name: str, most: int) -> bytes:
        """The last `most` bytes of what a container wrote, in its last few hundred lines."""

        def read(client: Client) -> bytes:
            end = b""
            for chunk in client.logs(name, stream=True, follow=False, tail=_LOG_LINES):
                end = (end + chunk)[-most:]
            return end

        return await self._call(read, long=True) or b""

    async def run_of(self, name: str) -> str:
        """Names this run of a container: another once it has been started again. Empty where it is gone."""

        def ask(client: Client) -> str:
            with contextlib.suppress(NotFound):
                raw = client.inspect_container(name)
                return f"{raw['Id']} {raw['State']['StartedAt']} {raw['State']['FinishedAt']}"
            return ""

        return await self._call(ask)

    async def copy_out(self, name: str, path: str, limit: int, take: Callable[[BinaryIO], T]) -> T | None:
        """What `take` makes of the tar of `path` inside the container. None if the path does not exist there.

        OutputTooLarge when it is larger than `limit` bytes. `take` runs in the call's own thread.
        """

        def copy(client: Client) -> T | None:
            try:
                chunks, _ = client.get_archive(name, path, chunk_size=1 << 20)
            except NotFound:
                return None
            with contextlib.closing(chunks), io.BufferedReader(Bounded(chunks, limit, path)) as source:
                return take(source)

        return await self._call(copy, long=True)

    # ------------------------------------------------------------------------------------------ calls

    async def _call(
        self, work: Callable[[Client], T], *, ignore: Sequence[int] = (), long: bool = False
    ) -> T:
        pool = self._long if long else self._short
        return await asyncio.get_running_loop().run_in_executor(pool, self._blocking, work, ignore)

    def _blocking(self, work: Callable[[Client], T], ignore: Sequence[int]) -> T:
        self._knock()
        try:
            if self._client is None:
                self._client = docker.APIClient(base_url=self.url, version="auto", timeout=self._call_seconds)
            return work(self._client)
        except APIError as error:
            status = error.response.status_code if error.response is not None else 500
            if status in ignore:
                return None  # type: ignore[return-value]  # only calls that return None ignore a status
            raise EngineRefused(str(error.explanation or error)) from error
        except (requests.RequestException, DockerException, ConnectionError) as error:
            raise EngineDown(f"The Docker engine at {self.url} does not answer: {error}") from error

    def _knock(self) -> None:
        """The SDK leaks a socket each time that nobody listens; a plain connection says so first."""
        address = urlsplit(self.url)
        if address.scheme != "unix":
            return
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(5)
            try:
                connection.connect(address.path)
            except OSError as error:
                raise EngineDown(f"The Docker engine at {self.url} does not answer: {error}") from error


def _inspected(client: Client, image: str) -> dict[str, Any] | None:
    with contextlib.suppress(ImageNotFound):
        return dict(client.inspect_image(image))
    return None
