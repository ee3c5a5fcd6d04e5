"""What documents, docstrings and comments cite is there: paths, headings, decisions, tests, names, targets of make.

Pure reading, of every file in the tree that somebody wrote.
"""

from __future__ import annotations

import importlib
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("agent", "contracts", "docs", "offchain", "scripts", "tests")
SUFFIXES = (".py", ".sol", ".md", ".sh", ".toml", ".service", ".conf", ".mjs", ".ts", ".tsx")
FILES = sorted(
    path
    for place in (ROOT, *(ROOT / folder for folder in FOLDERS))
    for path in (place.glob("*") if place == ROOT else place.rglob("*"))
    if path.suffix in SUFFIXES and not {"_generated", "node_modules"} & set(path.parts)
)
DOCUMENTS = [path for path in FILES if path.suffix == ".md"]
DECISIONS = ROOT / "docs" / "decisions"
PAGES = sorted(DECISIONS.glob("[0-9]*.md"))
GLOSSARY = ROOT / "docs" / "glossary.md"
MAPS = (ROOT / "docs" / "architecture.md", ROOT / "docs" / "contracts.md", GLOSSARY)
"""Every name that these put in backticks stands somewhere in the code."""

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CITED_FILE = re.compile(r"`([\w./-]+\.(?:py|sol|md|sh|mjs))((?:::\w+)*)`")
CITED_DOCUMENT = re.compile(r"(?<![\w/.<>{}#-])((?:docs/[\w/-]+(?:\.\w+)*)|[A-Za-z][\w/-]*\.md)\b")
CITED_HEADING = re.compile(r"([\w/-]+\.md)((?:(?:,| and|, and) \"[^\"]+\")+)")
CITED_DECISION = re.compile(r"\((0\d\d\d)\)|\b(?:page|pages|decision|decisions) (0\d\d\d|\d\d)\b")
CITED_TEST = re.compile(r"`([A-Z]\w+)\.(test\w+)`|`…(_\w+)`")
CITED_TARGET = re.compile(r"`make ([a-z-]+)")
CITED_INVARIANTS = re.compile(r"\binvariants? (\d+(?:, \d+)*)")
NAME = re.compile(r"_*[A-Za-z]\w*(?:\.\w+)*(?:\(\))?")


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def prose_of(path: Path) -> str:
    """A file without its line ends and what comments begin with: so that what breaks over two lines is found."""
    return re.sub(r"\s*\n\s*(?:(?:///?|#+|\*|>)\s)?\s*", " ", text_of(path))


@cache
def by_name() -> dict[str, list[Path]]:
    found = defaultdict(list)
    for path in FILES:
        found[path.name].append(path)
    return dict(found)


def meant(cited: str, by: Path) -> list[Path]:
    """The files that a path may mean: from the root, from the citing file, or by its last parts."""
    for start in (ROOT, by.parent):
        if (start / cited).exists():
            return [start / cited]
    parts = Path(cited).parts
    return [path for path in by_name().get(parts[-1], []) if path.parts[-len(parts) :] == parts]


def has(path: Path, names: list[str]) -> bool:
    return all(re.search(rf"\b(?:def|class|function|contract) {name}\b", text_of(path)) for name in names)


@cache
def headings(path: Path) -> list[str]:
    written = re.sub(r"^```.*?^```", "", text_of(path), flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"^#+ (.+?)\s*$", written, re.MULTILINE)


def anchor(heading: str) -> str:
    """As code hosts make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


# ------------------------------------------------------------------------------------------------------- citations


def lost_links(path: Path) -> Iterator[str]:
    for target in LINK.findall(text_of(path)):
        place, _, fragment = target.partition("#")
        if "://" in place or place.startswith("mailto:"):
            continue
        to = (path.parent / place).resolve() if place else path
        if not to.exists():
            yield f"link {target}"
        elif fragment and fragment not in map(anchor, headings(to)):
            yield f"heading {target}"


def lost_files(path: Path) -> Iterator[str]:
    for cited, inside in CITED_FILE.findall(text_of(path)):
        files, names = meant(cited, path), [name for name in inside.split("::") if name]
        if not files:
            yield f"file {cited}"
        elif names and not any(has(file, names) for file in files):
            yield f"{cited}{inside}"
    for cited in CITED_DOCUMENT.findall(text_of(path)):
        if not meant(cited, path) and not list(ROOT.glob(f"{cited}-*.md")):
            yield f"document {cited}"


def lost_headings(path: Path) -> Iterator[str]:
    for cited, quoted in CITED_HEADING.findall(prose_of(path)):
        known = {heading for file in meant(cited, path) for heading in headings(file)}
        yield from (f'{cited}, "{one}"' for one in re.findall(r'"([^"]+)"', quoted) if one not in known)


def lost_decisions(path: Path) -> Iterator[str]:
    numbers = {page.name[:4] for page in PAGES}
    for pair in CITED_DECISION.findall(text_of(path)):
        if (number := "".join(pair)) not in numbers:
            yield f"decision {number}"


def lost_tests(path: Path) -> Iterator[str]:
    """`Races.test_one`, and `…_two` of the contract that was named last."""
    files: list[Path] = []
    for contract, test, rest in CITED_TEST.findall(text_of(path)):
        if contract:
            files = by_name().get(f"{contract}.t.sol", [])
        if not any(re.search(rf"function \w*{test or rest}\(", text_of(file)) for file in files):
            yield f"test {contract}.{test or rest}"
    invariants = text_of(ROOT / "tests/invariants/Invariants.sol")
    for numbers in CITED_INVARIANTS.findall(text_of(path)) if path.suffix == ".md" else ():
        for number in numbers.split(", "):
            if f"function invariant_{int(number):02}_" not in invariants:
                yield f"invariant {number}"


def lost_targets(path: Path) -> Iterator[str]:
    made = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    yield from (f"make {target}" for target in CITED_TARGET.findall(text_of(path)) if target not in made)


CHECKS = (lost_links, lost_files, lost_headings, lost_decisions, lost_tests, lost_targets)


def lost(path: Path) -> list[str]:
    checks = CHECKS if path.suffix == ".md" else CHECKS[1:]
    return sorted({one for check in checks for one in check(path)})


@pytest.mark.parametrize("place", ["", *FOLDERS])
def test_what_is_cited_is_there(place: str) -> None:
    own = [path for path in FILES if (shown(path).split("/")[0] if "/" in shown(path) else "") == place]
    assert {shown(path): wrong for path in own if path != Path(__file__) and (wrong := lost(path))} == {}


@pytest.mark.parametrize(
    "text",
    [
        "[a page](nowhere.md)",
        "[a heading](docs/contracts.md#nowhere)",
        "`chain/_nowhere.py`",
        "`tests/scripts/test_findings.py::test_nowhere`",
        "as docs/NOWHERE.md says",
        "its ceiling in NOWHERE.md. Every call",
        'Source: docs/contracts.md, "Money" and "Nowhere".',
        '# Source: docs/contracts.md, "Money" and\n# "Nowhere".',
        "so it is (0009)",
        "so it is (0999)",
        "decision 0999",
        "decision 12",
        "`StakeRaces.test_nowhere`",
        "`StakeRaces.test_unstake_against_slash`, `…_nowhere`",
        "invariant 1, 99",
        "`make nowhere`",
    ],
)
def test_what_is_not_there_would_be_found(text: str, tmp_path: Path) -> None:
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    page = tmp_path / "page.md"
    page.write_text(text)
    assert lost(page)


def test_what_is_there_is_not_missed(tmp_path: Path) -> None:
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    page = tmp_path / "page.md"
    page.write_text(
        '[a heading](docs/contracts.md#faults-slashing-appeals) `chain/_pool.py` docs/contracts.md, "Money"\n'
        'and "Leases" (0042) `StakeRaces.test_unstake_against_slash` `make test` invariant 7, 24\n'
    )
    assert lost(page) == []


# ------------------------------------------------------------------------------------------------------- decisions


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_decision_is_headed_as_all_are(page: Path) -> None:
    title, blank, first, *_ = text_of(page).splitlines()
    assert re.fullmatch(rf"# {page.name[:4]} (?:[^.:]|\.(?=\w))*[^.:\s]", title), title
    assert blank == ""
    assert first.startswith("**What.** ")
    assert re.search(r"^\*\*Why[^*]*\.\*\* ", text_of(page), re.MULTILINE)


def test_the_index_has_each_decision_once() -> None:
    listed = re.findall(r"^- \[(\d{4})\]\((\S+)\) (.+)$", text_of(DECISIONS / "README.md"), re.MULTILINE)
    assert sorted(listed) == sorted((page.name[:4], page.name, headings(page)[0][5:]) for page in PAGES)


# ------------------------------------------------------------------------------------------------------- the site


def test_the_site_leads_to_each_page_once() -> None:
    listed = re.findall(r"^(?!:|```|#)(\S+)$", text_of(ROOT / "docs/index.md"), re.MULTILINE)
    pages = [
        page
        for folder in ("", "guides", "reference", "tutorials")
        for page in (ROOT / "docs" / folder).glob("*.md")
    ]
    names = [page.relative_to(ROOT / "docs").with_suffix("").as_posix() for page in pages]
    assert sorted(listed) == sorted({*names, "decisions/README"} - {"index"})


# ----------------------------------------------------------------------------------------------------------- names


@cache
def words() -> frozenset[str]:
    code = [path for path in FILES if path.suffix in (".py", ".sol") and path != Path(__file__)]
    text = " ".join(map(text_of, [*code, ROOT / "pyproject.toml", ROOT / "foundry.toml"]))
    return frozenset(re.findall(r"\w+", text))


def names(path: Path) -> Iterator[str]:
    """What stands in backticks and may be a name of the code, outside of blocks."""
    prose = re.sub(r"^```.*?^```", "", text_of(path), flags=re.MULTILINE | re.DOTALL)
    for quoted in re.findall(r"`([^`\n]+)`", prose):
        yield from (
            word for word in quoted.split(" ") if NAME.fullmatch(word) and not CITED_FILE.match(f"`{word}`")
        )


@pytest.mark.parametrize("page", MAPS, ids=lambda page: page.stem)
def test_the_names_of_a_map_are_the_code_s(page: Path) -> None:
    unknown = [name for name in names(page) if not words().issuperset(re.findall(r"\w+", name))]
    assert unknown == []


def terms() -> list[tuple[str, str, str, str]]:
    """term, and its names in Solidity, in Python and at the prompt."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text_of(GLOSSARY).splitlines()]
    return [(row[0], row[2], row[3], row[4]) for row in rows if len(row) == 5 and row[0].startswith("**")]


def declared(name: str) -> bool:
    """Whether a contract declares it: `Params`, or `Params.bond`, where the first's file has the second too."""
    first, _, inside = name.partition(".")
    for path in (ROOT / "contracts").rglob("*.sol"):
        own = rf"\b(?:contract|interface|library|struct|enum|type|error|event|function|modifier) {first}\b"
        if re.search(own, text_of(path)) and (not inside or re.search(rf"\b{inside}\b", text_of(path))):
            return True
    return False


def importable(name: str) -> bool:
    """Whether a dotted name leads somewhere: `leasehold.chain.Lease.cells`, a field too."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            if not hasattr(found, part):
                return part in getattr(found, "__annotations__", {})
            found = getattr(found, part)
        return True
    return False


def test_a_term_is_explained_once() -> None:
    found = [term for term, *_ in terms()]
    assert len(found) > 60
    assert len(set(found)) == len(found)
    assert found == sorted(found, key=lambda term: term.strip("*").lower())


def test_the_glossary_s_names_are_there() -> None:
    cli = text_of(ROOT / "docs/reference/cli.md")
    wrong = []
    for term, solidity, python, prompt in terms():
        wrong += [(term, name) for name in re.findall(r"`([\w.]+)`", solidity) if not declared(name)]
        wrong += [(term, name) for name in re.findall(r"`([\w.]+)`", python) if not importable(name)]
        wrong += [(term, word) for word in re.findall(r"`([^`]+)`", prompt) if f"`{word}" not in cli]
    assert wrong == []
