"""Tests side by side, in copies of the one process that has collected them: `pytest --copies 4`. docs/decisions/0352

What is imported and collected is there in each copy, as the kernel shares it. A copy takes one file of tests after
another, all of a file's in their order, and tells of each test what pytest would have told in the process itself.
"""

from __future__ import annotations

import atexit
import contextlib
import multiprocessing
import os
import signal
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any

import pytest

Told = tuple[str, dict[str, Any]]
"""A hook of pytest's, and what it is called with."""

_NUMBER = 2  # bytes of a file's number
_MOST = 1 << 14  # files: what a pipe takes before anybody reads
_OWN = "copy-"  # and its number: a copy's folder
_SILENT = ("terminalreporter", "terminalprogress")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--copies", type=int, default=1, help="run the files of tests side by side, so many at once"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "together(name): one copy runs them all, for what all of them read")
    if config.option.copies > 1:
        config.pluginmanager.register(Copies(config.option.copies))


class Copies:
    """A plugin. number: how many run side by side."""

    def __init__(self, number: int) -> None:
        self.number = number

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if session.testsfailed or session.config.option.collectonly:
            return None  # pytest itself says what there is to say
        files: dict[object, list[pytest.Item]] = {}
        for item in session.items:
            files.setdefault(_together(item), []).append(item)
        session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # one for all of them
        with _Running.of(session, list(files.values()), self.number) as running:
            for name, said in running.told():
                _repeat(session, name, said)
        for item in running.left.values():
            session.ihook.pytest_runtest_logreport(report=_lost(item))
        return True


def common_folder(factory: pytest.TempPathFactory) -> Path:
    """Where what all copies share lies until the tests have ended; in a process of its own, that one's own folder."""
    own = factory.getbasetemp()
    return own.parent if own.name.startswith(_OWN) else own


def _together(item: pytest.Item) -> object:
    """What is the same of all tests that one copy runs one after another."""
    mark = item.get_closest_marker("together")
    return mark.args[0] if mark else item.path


def _repeat(session: pytest.Session, name: str, said: dict[str, Any]) -> None:
    hook = session.config.hook
    if name == "pytest_runtest_logreport":
        said = {"report": hook.pytest_report_from_serializable(config=session.config, data=said)}
    if name == "pytest_warning_recorded":  # which pytest calls again for each plugin that comes later
        hook.pytest_warning_recorded.call_historic(kwargs=said)
    else:
        getattr(hook, name)(**said)
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)


def _lost(item: pytest.Item) -> pytest.TestReport:
    said = "Not run, or not to its end: the process that was to run it has ended."
    return pytest.TestReport(item.nodeid, item.location, {}, "failed", said, "call")


@dataclass
class _Running:
    """left: tests of which the end has not been told, by their ids."""

    left: dict[str, pytest.Item]
    copies: list[ForkProcess] = field(default_factory=list)
    listening: dict[int, Connection] = field(default_factory=dict)  # by what says that the copy has ended

    @classmethod
    def of(cls, session: pytest.Session, files: list[list[pytest.Item]], number: int) -> _Running:
        running = cls({item.nodeid: item for item in session.items})
        queue = _queue(len(files))
        pipes = [multiprocessing.Pipe(duplex=False) for _ in range(min(number, len(files)))]
        ends = [end for pipe in pipes for end in pipe]
        for place, (hears, tells) in enumerate(pipes):
            # What another copy holds open too would not be seen to end.
            others = [end for end in ends if end is not tells]
            copy = ForkProcess(target=_run, args=(session, files, queue, tells, others, place))
            copy.start()
            running.copies.append(copy)
            running.listening[os.pidfd_open(copy.pid or 0)] = hears
        for _, tells in pipes:
            tells.close()
        os.close(queue)
        return running

    def told(self) -> Iterator[Told]:
        """All that the copies tell until they have ended."""
        while self.listening:
            open_ones = (hears for hears in self.listening.values() if not hears.closed)
            ready = wait([*self.listening, *open_ones])
            for ended, hears in list(self.listening.items()):
                if ended in ready or hears in ready:
                    yield from self._heard(hears)
                if ended in ready:
                    self._close(ended)

    def _heard(self, hears: Connection) -> Iterator[Told]:
        """What lies there: a process that a copy's test has left behind may hold it open for longer than the copy."""
        try:
            while not hears.closed and hears.poll():
                name, said = hears.recv()
                if name == "pytest_runtest_logfinish":
                    self.left.pop(said["nodeid"], None)
                yield name, said
        except EOFError:
            hears.close()

    def _close(self, ended: int) -> None:
        self.listening.pop(ended).close()
        os.close(ended)

    def __enter__(self) -> _Running:
        return self

    def __exit__(self, *error: object) -> None:
        for ended in list(self.listening):
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(ended, signal.SIGINT)
            self._close(ended)  # so that nobody waits for being heard
        for copy in self.copies:
            copy.join()


def _queue(length: int) -> int:
    """Numbers of files. Whoever reads has one that nobody else has: that is what a pipe gives to several readers."""
    assert length <= _MOST
    read, write = os.pipe()
    os.write(write, b"".join(number.to_bytes(_NUMBER, "big") for number in range(length)))
    os.close(write)
    return read


# -------------------------------------------------------------------------------------------------------- in a copy


def _run(
    session: pytest.Session,
    files: list[list[pytest.Item]],
    queue: int,
    tells: Connection,
    others: list[Connection],
    place: int,
) -> None:
    atexit._clear()  # what the process that was copied has to do at its end is not done here
    for other in others:
        other.close()
    _begin(session.config, place, tells)
    try:
        items = _items(files, queue)
        item = next(items, None)
        while item:
            following = _Following(items)
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            item = following.item
    except (KeyboardInterrupt, BrokenPipeError):  # nobody listens any more
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    finally:
        session._setupstate.teardown_exact(None)
        atexit._run_exitfuncs()


def _items(files: list[list[pytest.Item]], queue: int) -> Iterator[pytest.Item]:
    while number := os.read(queue, _NUMBER):
        yield from files[int.from_bytes(number, "big")]


class _Following:
    """The next test, which is taken as the one before it ends: none waits behind a long one that another could run."""

    def __init__(self, items: Iterator[pytest.Item]) -> None:
        self._items = items

    @cached_property
    def item(self) -> pytest.Item | None:
        return next(self._items, None)

    def listchain(self) -> Sequence[object]:
        """What pytest asks of the next one: whose fixtures stay. None has none."""
        return self.item.listchain() if self.item else []


def _begin(config: pytest.Config, place: int, tells: Connection) -> None:
    """What two processes cannot share: a terminal, a folder, the file that takes what a test prints."""
    for name in _SILENT:
        if config.pluginmanager.has_plugin(name):
            config.pluginmanager.unregister(name=name)
    factory = config._tmp_path_factory  # type: ignore[attr-defined]
    factory._basetemp = factory.getbasetemp() / f"{_OWN}{place}"
    factory._basetemp.mkdir(mode=0o700)
    capture = config.pluginmanager.getplugin("capturemanager")
    capture.stop_global_capturing()
    capture.start_global_capturing()
    capture.suspend_global_capture()
    config.pluginmanager.register(_Teller(config, tells))


class _Teller:
    """A plugin that passes on what pytest says of the tests."""

    def __init__(self, config: pytest.Config, tells: Connection) -> None:
        self.config, self.tells = config, tells

    def pytest_runtest_logstart(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        self.tells.send(("pytest_runtest_logstart", {"nodeid": nodeid, "location": location}))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self.config.hook.pytest_report_to_serializable(config=self.config, report=report)
        self.tells.send(("pytest_runtest_logreport", data))

    def pytest_runtest_logfinish(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        self.tells.send(("pytest_runtest_logfinish", {"nodeid": nodeid, "location": location}))

    def pytest_warning_recorded(
        self, warning_message: warnings.WarningMessage, when: str, nodeid: str, location: object
    ) -> None:
        """The warning's own class may be one that only a test knows."""
        text = f"{warning_message.category.__name__}: {warning_message.message}"
        plain = warnings.WarningMessage(
            Warning(text), Warning, warning_message.filename, warning_message.lineno
        )
        said = {"warning_message": plain, "when": when, "nodeid": nodeid, "location": location}
        self.tells.send(("pytest_warning_recorded", said))
