"""Who is told what as it happens: topics, and for each listener a queue of bounded length.

A frame is written once for all who hear it, and what happened at once is told at once. A listener for whom nothing
waits has it straight from here, where his connection takes it; whoever is behind has a queue. A listener who does not
read fast enough is let go: he comes again and asks for what is, which is all that he needs. Nothing waits for him, and
he fills nobody's memory.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Final

import orjson
from websockets.frames import Frame, Opcode

QUEUE: Final = 64
"""Frames that a listener may be behind."""
MOST_TOPICS: Final = 64
"""That one listener hears."""
_AT_ONCE: Final = 32  # who are told between two turns of others

Outlet = Callable[[bytes], bool]
"""Writes what a WebSocket carries, if that can be now, and says whether it did."""


class News:
    """What happened at once, for all who hear of the same of it. frames: one for each topic, as JSON."""

    def __init__(self, frames: tuple[bytes, ...]) -> None:
        self.frames = frames

    @cached_property
    def carried(self) -> bytes:
        """All of them as a server's WebSocket carries them, one message each."""
        return b"".join(Frame(Opcode.TEXT, frame).serialize(mask=False) for frame in self.frames)


class Listener:
    """One connection. `frame` waits for the next; `None` once he was let go. outlet: of a connection that has one; it
    is used while `frame` is waited for, and so never before something that came earlier.
    """

    def __init__(self, outlet: Outlet | None = None) -> None:
        self.topics: set[str] = set()
        self.dropped = False
        self._outlet = outlet
        self._frames: asyncio.Queue[bytes | None] = asyncio.Queue(QUEUE + 1)
        self._waits = False

    async def frame(self) -> bytes | None:
        """The next frame, as JSON. What was given before has been written when this is asked for."""
        self._waits = True
        try:
            return await self._frames.get()
        finally:
            self._waits = False

    def tell(self, news: News) -> None:
        """What happened, at once if nothing is between."""
        free = self._waits and self._frames.empty() and not self.dropped
        if free and self._outlet is not None and self._outlet(news.carried):
            return
        for frame in news.frames:
            self.offer(frame)

    def offer(self, frame: bytes) -> None:
        """A frame for him; the one too many ends it."""
        if self.dropped:
            return
        if self._frames.qsize() >= QUEUE:
            self.dropped = True
            while not self._frames.empty():
                self._frames.get_nowait()
            self._frames.put_nowait(None)
            return
        self._frames.put_nowait(frame)


class Hub:
    """All listeners, by topic."""

    def __init__(self) -> None:
        self._by_topic: dict[str, set[Listener]] = defaultdict(set)
        self.dropped = 0
        self._saying = asyncio.Lock()

    def hear(self, listener: Listener, topics: Iterable[str]) -> None:
        """Have a listener hear these topics, besides those that he hears already; no more than `MOST_TOPICS`."""
        for topic in topics:
            if len(listener.topics) >= MOST_TOPICS:
                return
            listener.topics.add(topic)
            self._by_topic[topic].add(listener)

    def leave(self, listener: Listener, topics: Iterable[str] | None = None) -> None:
        """Have him hear these no more; all of his, if none are named."""
        for topic in tuple(listener.topics if topics is None else topics):
            listener.topics.discard(topic)
            self._by_topic[topic].discard(listener)
            if not self._by_topic[topic]:
                del self._by_topic[topic]

    def heard(self, topic: str) -> bool:
        """Whether anybody hears a topic."""
        return topic in self._by_topic

    async def say(self, topic: str, frame: Mapping[str, object]) -> None:
        """Tell all who hear a topic now."""
        await self.tell({topic: frame})

    async def tell(self, happened: Mapping[str, Mapping[str, object]]) -> None:
        """Tell all who hear some of these topics now, each of them at once of all that he hears, in this order: some at
        a time, so that whoever searches waits for none of a thousand.
        """
        heard: dict[Listener, list[str]] = defaultdict(list)
        for topic in happened:
            for listener in self._by_topic.get(topic, ()):
                heard[listener].append(topic)
        alike: dict[tuple[str, ...], list[Listener]] = defaultdict(list)
        for listener, topics in heard.items():
            alike[tuple(topics)].append(listener)
        wanted = frozenset[str]().union(*alike)
        written = {topic: orjson.dumps({"topic": topic, **happened[topic]}) for topic in wanted}
        told = 0
        async with self._saying:  # one thing after the other, for each of them
            for each, listeners in alike.items():
                # No two need hear of the same, so that what is joined for some is let go before the next is.
                news = News(tuple(map(written.__getitem__, each)))
                for listener in listeners:
                    if told and told % _AT_ONCE == 0:
                        await asyncio.sleep(0)
                    self._tell(listener, news)
                    told += 1

    def _tell(self, listener: Listener, news: News) -> None:
        before = listener.dropped
        listener.tell(news)
        if listener.dropped and not before:
            self.dropped += 1
            self.leave(listener)
