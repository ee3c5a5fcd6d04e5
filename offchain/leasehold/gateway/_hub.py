"""Who is told what as it happens: topics, and for each listener a queue of bounded length.

A frame is written once for all who hear it. A listener who does not read fast enough is let go: he comes again and asks
for what is, which is all that he needs. Nothing waits for him, and he fills nobody's memory.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

import orjson

QUEUE: Final = 64
"""Frames that a listener may be behind."""
MOST_TOPICS: Final = 64
"""That one listener hears."""
_AT_ONCE: Final = 32  # who are told between two turns of others


class Listener:
    """One connection. `frame` waits for the next; `None` once he was let go."""

    def __init__(self) -> None:
        self.topics: set[str] = set()
        self._frames: asyncio.Queue[bytes | None] = asyncio.Queue(QUEUE + 1)
        self.dropped = False

    async def frame(self) -> bytes | None:
        """The next frame, as JSON."""
        return await self._frames.get()

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
        """Tell all who hear a topic now: some at a time, so that whoever searches waits for none of a thousand."""
        listeners = self._by_topic.get(topic)
        if not listeners:
            return
        written, told = orjson.dumps({"topic": topic, **frame}), tuple(listeners)
        async with self._saying:  # one frame after the other, for each of them
            for at, listener in enumerate(told):
                if at and at % _AT_ONCE == 0:
                    await asyncio.sleep(0)
                self._offer(listener, written)

    def _offer(self, listener: Listener, written: bytes) -> None:
        before = listener.dropped
        listener.offer(written)
        if listener.dropped and not before:
            self.dropped += 1
            self.leave(listener)
