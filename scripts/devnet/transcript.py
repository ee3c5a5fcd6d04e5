"""What a document shows being typed, and whether what was said in truth is what it shows.

A block's first line says how it is read. `console` shows commands behind a prompt and, below each, what it says; `sh`
has commands alone. A word before the prompt's `$` or `#` names whose terminal it is. Behind the language may stand,
with commas between:

    fails           every command of the block exits with something else than 0
    stays           its one command goes on at its terminal, past what it shows, until the document ends
    after WORDS     what has to happen first, unseen: whoever plays the document knows what the words stand for
    parse: REASON   the commands are not run; commands of ours are only looked up, with their options

A block of `sh` shows no answers: whoever types it says yes, and gives the password.

In what is shown `…` stands for anything on its line, and alone on a line for any lines. What is shown of what somebody
types is typed: an answer behind `[y/N]:`, a password behind a line that asks for one, `^C`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

SHELLS = ("console", "sh")
_FENCE = re.compile(r"^```(\S*)[ ]*(.*?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PROMPT = re.compile(r"([a-z]*)[$#] (.*)")
_HEREDOC = re.compile(r"<<-?\s*'?\"?(\w+)")
_ANSWER = re.compile(r"(.*\[y/N\]:) (\w+)")
_SECRET = re.compile(r"(?i).*(password|confirmation).*:")
_ANYTHING = "…"


@dataclass(frozen=True)
class Cue:
    """What somebody types once `after` has been said. hidden: while the terminal shows no keys. always: each time, or
    never.
    """

    after: str
    keys: str
    hidden: bool = False
    always: bool = False


@dataclass(frozen=True)
class Command:
    """line: where it stands. who: what stands before the prompt. shows: what the document shows of its output. willing:
    whoever types it says yes to everything.
    """

    line: int
    who: str
    text: str
    shows: tuple[str, ...] = ()
    willing: bool = False

    def cues(self, password: str) -> Iterator[Cue]:
        """What is typed while it runs, in order."""
        if self.willing:
            yield Cue(r"\[y/N\]: ", "y\n", always=True)
            yield Cue(r"(?im)^(password|repeat)[^\n]*: \Z", password + "\n", hidden=True, always=True)
        before = ""
        for line in self.shows:
            if answered := _ANSWER.fullmatch(line):
                yield Cue(pattern(answered[1]) + " ", answered[2] + "\n")
            elif _SECRET.fullmatch(line):
                yield Cue(pattern(line) + " ", password + "\n", hidden=True)
            elif line.startswith("^C"):
                yield Cue(pattern(before), "\x03")
            before = line


@dataclass(frozen=True)
class Block:
    """A fenced block. directions: what stands behind its language."""

    line: int
    language: str
    directions: tuple[str, ...]
    text: str

    @property
    def fails(self) -> bool:
        return "fails" in self.directions

    @property
    def stays(self) -> bool:
        return "stays" in self.directions

    @property
    def parsed_only(self) -> bool:
        return any(direction.startswith("parse: ") for direction in self.directions)

    @property
    def moments(self) -> list[str]:
        """What has to happen before."""
        return [word.removeprefix("after ") for word in self.directions if word.startswith("after ")]

    def commands(self) -> list[Command]:
        """Of a shell's block. Raises ValueError where it shows something that no command has said."""
        made: list[Command] = []
        lines = iter(enumerate(self.text.splitlines(), self.line + 1))
        for number, line in lines:
            prompt = _PROMPT.fullmatch(line) if self.language == "console" else None
            if prompt is not None:
                made.append(Command(number, prompt[1], _whole(prompt[2], lines)))
            elif self.language == "sh":
                if line.strip() and not line.startswith("#"):
                    made.append(Command(number, "", _whole(line, lines), willing=True))
            elif made:
                last = made[-1]
                made[-1] = replace(last, shows=(*last.shows, line))
            elif line:
                raise ValueError(f"line {number}: nobody has said {line!r}")
        return made


def _whole(first: str, rest: Iterator[tuple[int, str]]) -> str:
    """A command with the lines that belong to it: behind a backslash, in open quotes, up to a here document's end."""
    text = first
    end = _HEREDOC.search(first)
    while text.endswith("\\") or text.count("'") % 2 or (end and text.splitlines()[-1] != end[1]):
        text += "\n" + next(rest)[1]
    return text


def blocks(document: Path, *languages: str) -> list[Block]:
    """The blocks of a document; of those languages alone, where some are named."""
    text = document.read_text(encoding="utf-8")
    return [
        Block(
            line=text.count("\n", 0, block.start()) + 1,
            language=block[1],
            directions=tuple(word.strip() for word in block[2].split(",") if word.strip()),
            text=block[3],
        )
        for block in _FENCE.finditer(text)
        if not languages or block[1] in languages
    ]


# ------------------------------------------------------------------------------------------------------- comparing


def pattern(line: str) -> str:
    """The regular expression of a line that is shown, whatever space is between its words."""
    parts = (re.escape(part) for part in " ".join(line.split()).split(_ANYTHING))
    return "[^\n]*".join(part.replace(r"\ ", r"\s+") for part in parts)


def difference(shows: Sequence[str], said: str) -> str | None:
    """The first line that is shown and was not said there, or `None`. What shows nothing at all fits everything."""
    lines = [line for line in shows if line.strip()]
    if not lines:
        return None
    heard = "".join(" ".join(line.split()) + "\n" for line in said.splitlines() if line.strip())
    wanted = ""
    for line in lines:
        wanted += "(?:[^\n]*\n)*?" if line.strip() == _ANYTHING else pattern(line) + "\n"
        if re.match(wanted, heard) is None:
            return line
    return None if re.fullmatch(wanted, heard) else "(the end)"
