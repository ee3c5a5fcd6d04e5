"""How a document's blocks are read, what fits what they show, and that somebody types each of them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.main import get_command

from devnet.transcript import SHELLS, Block, Command, blocks, difference
from leasehold.cli import app
from leasehold.cli._lazy import LazyGroup
from leasehold_agent.cli._app import app as agent_app

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([ROOT / "README.md", *ROOT.glob("docs/tutorials/*.md"), *ROOT.glob("docs/guides/*.md")])
COMMANDS = {"leasehold": get_command(app), "leasehold-agent": get_command(agent_app)}
OF_ALL = {
    option for command in COMMANDS.values() for parameter in command.params for option in parameter.opts
}
SHOWN = ("json", "toml", "text")
"""Languages of blocks that show something which nobody runs."""
INLINE = re.compile(r"`(leasehold(?:-agent)? [^`]+)`")


def console(text: str) -> list[Command]:
    return Block(10, "console", (), text).commands()


# --------------------------------------------------------------------------------------------------------- reading


def test_a_block_is_read_with_its_directions(tmp_path: Path) -> None:
    page = tmp_path / "page.txt"
    page.write_text(
        "# page\n\n```console fails, after two days\n$ false\n```\n\n"
        "```sh parse: it wants a shell, elsewhere\nx\n```\n\n```\nplain\n```\n"
    )
    first, second, plain = blocks(page)
    assert (first.line, first.language, first.fails, first.moments) == (3, "console", True, ["two days"])
    assert (second.parsed_only, second.fails, plain.language) == (True, False, "")
    assert [block.line for block in blocks(page, "console")] == [3]


def test_what_is_shown_belongs_to_the_command_above() -> None:
    first, second = console("$ one\nsaid\n\nmore\nhost# two\n")
    assert first == Command(11, "", "one", ("said", "", "more"))
    assert second == Command(15, "host", "two")


def test_a_command_may_take_several_lines() -> None:
    first, second, third = console("$ one \\\n    two\n$ cat <<END\n$ text\nEND\nsaid\n$ echo 'a\nb'\n")
    assert first.text == "one \\\n    two"
    assert (second.text, second.shows) == ("cat <<END\n$ text\nEND", ("said",))
    assert third.text == "echo 'a\nb'"


def test_a_script_is_commands_alone() -> None:
    made = Block(1, "sh", (), "# a word\n. file      # more\n\none \\\n    two\n").commands()
    assert [(command.line, command.text) for command in made] == [
        (3, ". file      # more"),
        (5, "one \\\n    two"),
    ]


def test_what_nobody_has_said_is_an_error() -> None:
    with pytest.raises(ValueError, match="line 11: nobody"):
        console("said\n$ one\n")


def test_what_somebody_types_is_seen() -> None:
    (command,) = console("$ rent\nPassword of wallet me:\nPay…? [y/N]: y\nrunning\n^CInterrupted.\n")
    password, answer, stop = command.cues("secret")
    assert (password.keys, password.hidden) == ("secret\n", True)
    assert (answer.keys, answer.hidden) == ("y\n", False)
    assert re.search(answer.after, "Pay 3 TUSD? [y/N]: ")
    assert (stop.keys, stop.after) == ("\x03", "running")


# ------------------------------------------------------------------------------------------------------- comparing


@pytest.mark.parametrize(
    ("shows", "said", "lost"),
    [
        ([], "anything", None),
        (["a b"], "a    b  \n", None),
        (["a b"], "ab\n", "a b"),
        (["a … c"], "a 17 c\n", None),
        (["a … c"], "a 17 d\n", "a … c"),
        (["a"], "a\nb\n", "(the end)"),
        (["a", "…"], "a\nb\nc\n", None),
        (["…", "c"], "a\n\nb\nc\n", None),
        (["a", "…", "c", "…"], "a\nc\n", None),
        (["a", "…", "d"], "a\nb\nc\n", "d"),
        (["a", "c"], "a\nb\nc\n", "c"),
        (["1.5 (x)"], "1.5 (x)\n", None),
        (["1.5"], "1x5\n", "1.5"),
        (["b"], "", "b"),
    ],
)
def test_what_fits(shows: list[str], said: str, lost: str | None) -> None:
    assert difference(shows, said) == lost


# --------------------------------------------------------------------------------------------------- the documents


def named(text: str) -> Iterator[list[str]]:
    """The commands of ours in a line of shell, each with its words."""
    for part in re.split(r"\n|\|\||&&|[;|]\s|\$\(", text.replace("\\\n", " ")):
        try:
            words = shlex.split(part, comments=True)
        except ValueError:  # quotes that go on beyond the part
            words = part.split()
        while words and words[0] not in COMMANDS:
            words = words[1:]
        if words:
            yield words


def unknown(words: list[str]) -> str | None:
    """What there is not of a command of ours: the command, or the first of its options."""
    command, rest = COMMANDS[words[0]], words[1:]
    while (verbs := getattr(command, "commands", None)) is not None and rest:
        name, *rest = rest
        name = name.strip("'\")")
        if name not in verbs:
            return None if name in OF_ALL else name
        if isinstance(command, LazyGroup):
            command.load(name)
        command = verbs[name]
    known = {
        option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)
    }
    given = rest[: rest.index("--")] if "--" in rest else rest
    options = [word.split("=")[0].rstrip(",.;:)") for word in given if re.match(r"--?[a-z]", word)]
    return next((word for word in options if word not in known | {"--help"}), None)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_every_command_that_is_named_is_there(document: Path) -> None:
    text = document.read_text()
    written = [
        " ".join(words.split())
        for words in INLINE.findall(re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))
    ]
    written += [command.text for block in blocks(document, *SHELLS) for command in block.commands()]
    wrong = {shlex.join(words): lost for line in written for words in named(line) if (lost := unknown(words))}
    assert wrong == {}


@pytest.mark.parametrize(
    "line",
    [
        "leasehold no-such-verb",
        "leasehold provider no-such-verb 1",
        "leasehold rent --no-such-option 1 -- sh",
        "x=$(leasehold wallet no-such-verb)",
        "true; leasehold-agent describe --no-such-option",
        "leasehold machines | leasehold-agent nothing",
    ],
)
def test_a_command_that_is_not_there_would_be_found(line: str) -> None:
    assert [lost for words in named(line) if (lost := unknown(words))]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_every_block_is_run_or_says_why_not(document: Path) -> None:
    """What is typed is typed by a test that names the document; what is only parsed names its reason."""
    made = blocks(document)
    languages = {block.language for block in made}
    assert languages <= {*SHELLS, "python", *SHOWN}
    tests = "\n".join(
        path.read_text() for path in (ROOT / "tests").rglob("test_*.py") if path != Path(__file__)
    )
    typed = [block for block in made if block.language in (*SHELLS, "python") and not block.parsed_only]
    assert not typed or f'/ "{document.name}"' in tests or f"{document.relative_to(ROOT)}" in tests
    known = re.compile(r"fails|stays|after .+|parse: .{10,}|")
    assert all(known.fullmatch(word) for block in made for word in block.directions)
