"""Small libraries in C that stand in for what a machine lacks, built where they are used first."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import uuid
from pathlib import Path

BUILD = Path(__file__).parents[1] / "build" / "libraries"
_FLAGS = ("-shared", "-fPIC", "-O1", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror")


def built(source: Path, name: str) -> Path:
    """The library of that file name, made of one C source. Built once for each content of it."""
    folder = BUILD / f"{source.stem}-{hashlib.sha256(source.read_bytes()).hexdigest()[:12]}"
    if not (folder / name).exists():
        compiler = shutil.which("cc")
        assert compiler, "a C compiler is part of the development tools"
        folder.mkdir(parents=True, exist_ok=True)
        made = folder / f"{uuid.uuid4().hex}.so"
        subprocess.run([compiler, *_FLAGS, f"-Wl,-soname,{name}", "-o", str(made), str(source)], check=True)
        made.replace(folder / name)  # whole, whoever else builds it
    return folder / name
