"""Writes what the browser's app compares a pool's code with: of each contract that this checkout builds, the hash of
its code less the compiler's metadata, with zeros where a constructor writes, and where that is.

    python scripts/dapp_code.py [--check]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Final

from eth_utils.crypto import keccak

from dapp import DAPP, ROOT, typescript
from verify_bytecode import Built, build, without_metadata

PATH: Final = DAPP / "chain/generated/builtCode.ts"
HEAD: Final = "// Made by scripts/dapp_code.py: do not edit.\n"
LEFT_OUT: Final = frozenset({"Lens"})
"""What no pool's code leads to: it holds nothing, and nobody's money goes by its word."""


def code_file(built: Mapping[str, Built]) -> str:
    """The generated file."""
    known = {name: entry(one) for name, one in sorted(built.items()) if name not in LEFT_OUT}
    return HEAD + typescript("builtCode", known)


def entry(built: Built) -> dict[str, object]:
    """A contract. size: bytes, without metadata. holes: by name, where each word stands that a constructor writes."""
    code = without_metadata(built.code)
    return {
        "size": len(code),
        "hash": f"0x{keccak(code).hex()}",
        "holes": {name: list(starts) for name, starts in sorted(built.holes.items())},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the file is out of date")
    text = code_file(build())
    path = ROOT / PATH
    if path.exists() and path.read_text() == text:
        return 0
    if parser.parse_args().check:
        print("out of date, run scripts/dapp_code.py:", PATH, sep="\n  ")
        return 1
    path.write_text(text)
    print("wrote", PATH)
    return 0


if __name__ == "__main__":
    sys.exit(main())
