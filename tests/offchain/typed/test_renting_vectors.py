"""What a browser comes to is what the library comes to: one file holds both, and each opens what the other seals."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

from leasehold.workload import Workload, unseal

FOLDER = Path(__file__).parents[2] / "vectors"
VECTORS = json.loads((FOLDER / "renting.json").read_text())


def _maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("renting_vectors", FOLDER / "renting.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_vectors_are_what_the_library_comes_to_now() -> None:
    maker = _maker()
    assert maker.text(maker.document(VECTORS["sealed"])) == (FOLDER / "renting.json").read_text()


def test_the_library_opens_what_it_sealed_for_the_vectors() -> None:
    opened = unseal(bytes.fromhex(VECTORS["sealed"]), VECTORS["identity"])
    assert opened.canonical().decode() == VECTORS["workloads"][2]["canonical"]


def test_the_library_opens_what_a_browser_sealed() -> None:
    sealed = bytes.fromhex((FOLDER / "sealed_by_browser.hex").read_text())
    assert unseal(sealed, VECTORS["identity"]) == Workload.model_validate_json(
        VECTORS["workloads"][2]["canonical"]
    )
