"""The package as others install it: built, alone in an environment, and with types that a strict checker follows."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import textwrap
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

from devnet.patience import patient
from shipping.pins import asked_for

from .test_library import ROOT, the_examples

pytestmark = pytest.mark.slow

BESIDE_PYTHON = {
    "leasehold/py.typed",
    "leasehold/chain/_generated/abi/Controller.json",
    "leasehold_agent/py.typed",
}
BESIDE_THE_AGENT = {
    "agent.toml.sample",
    "leasehold-agent.service",
    "leasehold-docker.conf",
    "leasehold-gateway.service",
    "leasehold-sysctl.conf",
}
LONGEST = 30
"""Lines of an example."""


def uv(*arguments: str, environment: Path | None = None) -> None:
    done = subprocess.run(
        [os.environ["LEASEHOLD_UV"], *arguments, "--offline", "--quiet"],
        cwd=ROOT,
        env={**os.environ, **({"VIRTUAL_ENV": str(environment)} if environment else {})},
        capture_output=True,
        text=True,
        timeout=patient(120),
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    uv("build", "--wheel", "--out-dir", str(folder), str(ROOT))
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path) -> Path:
    """One that has the wheel and what it asks for, and not this tree."""
    made = wheel.parent / "environment"
    uv("venv", "--python", sys.executable, str(made))
    install(wheel, made)
    return made


def install(wheel: Path, environment: Path, extra: str = "") -> None:
    """Install the wheel with what it asks for, as the lock pins that.

    Nothing is resolved: setup fetches what the lock names, and its cache need not have the metadata by which uv would
    choose among versions. What the wheel asks for is followed through what is installed here.
    """
    pins = wheel.parent / "pins.txt"
    pins.write_text("".join(f"{name}=={version(name)}\n" for name in sorted(asked_for(wheel, extra))))
    uv("pip", "install", "--no-deps", str(wheel), "--requirement", str(pins), environment=environment)
    uv("pip", "check", environment=environment)


def test_what_is_not_python_is_inside(wheel: Path) -> None:
    inside = zipfile.ZipFile(wheel).namelist()
    assert set(inside) >= BESIDE_PYTHON
    assert {Path(name).name for name in inside if ".data/data/share/leasehold/" in name} == BESIDE_THE_AGENT


def test_the_sources_are_those_of_the_package(tmp_path: Path) -> None:
    """What is built from them is the same, and no test comes along."""
    uv("build", "--sdist", "--out-dir", str(tmp_path), str(ROOT))
    (built,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(built) as archive:
        parts = {name.split("/")[1] for name in archive.getnames()}
    assert parts == {
        *("agent", "offchain", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"),
        *("PKG-INFO", ".gitignore"),
    }


def test_the_examples_are_short_and_clean_under_a_strict_checker(environment: Path, tmp_path: Path) -> None:
    examples = the_examples()
    assert examples
    for number, example in enumerate(examples):
        assert len(example.splitlines()) <= LONGEST
        (tmp_path / f"example_{number}.py").write_text(example)
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull,
         "--cache-dir", str(tmp_path / "cache"), "--python-executable", str(environment / "bin" / "python"), "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=patient(180),
        check=False,
    )  # fmt: skip
    assert checked.returncode == 0, checked.stdout + checked.stderr


def ran(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=patient(120), check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


EVERY_MODULE = textwrap.dedent("""
    import importlib, pkgutil, sys
    package = importlib.import_module(sys.argv[1])
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not module.name.endswith("__main__") and not module.name.startswith(tuple(sys.argv[2:])):
            importlib.import_module(module.name)
    print(package.__file__)
""")


def test_it_stands_alone(wheel: Path, environment: Path, tmp_path: Path) -> None:
    """Every module can be imported: the library's with nothing beside, but the gateway's and the agent's with what each
    asks for.
    """
    python = environment / "bin" / "python"
    alone = ran(python, "-I", "-c", EVERY_MODULE, "leasehold", "leasehold.gateway.", cwd=tmp_path)
    assert alone.startswith(str(environment))
    version = ran(python, "-I", "-c", "import leasehold; print(leasehold.__version__)", cwd=tmp_path).strip()
    assert version in ran(python.with_name("leasehold"), "--version", cwd=tmp_path)
    without = subprocess.run(
        [python.with_name("leasehold"), "--deployment", "none.json", "gateway", "run"],
        cwd=tmp_path, capture_output=True, text=True, timeout=patient(120), check=False,
    )  # fmt: skip
    assert "leasehold[gateway]" in without.stderr
    install(wheel, environment, "gateway")
    assert ran(python, "-I", "-c", EVERY_MODULE, "leasehold.gateway", cwd=tmp_path).startswith(
        str(environment)
    )
    install(wheel, environment, "agent")
    assert ran(python, "-I", "-c", EVERY_MODULE, "leasehold_agent", cwd=tmp_path).startswith(str(environment))
