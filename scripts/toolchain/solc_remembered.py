#!/usr/bin/env python3
"""The compiler, which answers a question that it was asked before from memory.

forge asks it twice for one test of many: once which tests there are, in all sources and every time, and then for what
has changed. A question holds all sources, and its answer depends on nothing else, so that the memory cannot be stale.
It lies under the folder that SOLC_MEMORY names; a file is as old as its last use.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

COMPILER = Path(__file__).resolve().with_name("solc.mjs")


def main() -> int:
    """Answers as `solc.mjs` does."""
    memory = Path(os.environ["SOLC_MEMORY"])
    question = b"" if "--version" in sys.argv else sys.stdin.buffer.read()
    kept = memory / hashlib.sha256(COMPILER.read_bytes() + question).hexdigest()
    if not kept.exists():
        asked = [argument for argument in sys.argv[1:] if argument in ("--version", "--standard-json")]
        done = subprocess.run([COMPILER, *asked], input=question, stdout=subprocess.PIPE, check=False)
        if done.returncode != 0:
            return done.returncode
        memory.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=memory, delete=False) as written:
            written.write(done.stdout)
        os.replace(written.name, kept)
    kept.touch()
    sys.stdout.buffer.write(kept.read_bytes())
    return 0


if __name__ == "__main__":
    sys.exit(main())
