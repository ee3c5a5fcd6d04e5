"""Builds the contracts and fails if one comes too near the most that a chain takes (24,576 bytes, EIP-170)."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

CONTRACTS = Path("contracts")
CEILING = 22_528  # bytes of code that is deployed; a contract stays under it
# What judges machines is to be read in an hour: whatever is put into it takes something out.
LOWER = {"Faults": 20_500}
LEFT_OUT = ("test", "interfaces")


def measure() -> dict[str, int]:
    """Bytes of each contract's deployed code by its name, also of those that are not ours."""
    # forge keeps a cache of signatures under HOME
    environment = os.environ | {"HOME": str(Path("build").resolve())}
    command = ["forge", "build", str(CONTRACTS), "--sizes", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    try:
        sizes = json.loads(done.stdout)
    except json.JSONDecodeError:
        sys.exit(done.stdout[-4000:] + done.stderr[-4000:])
    return {name: size["runtime_size"] for name, size in sizes.items()}


def ours(root: Path = CONTRACTS) -> list[str]:
    """The names of the contracts that are deployed; libraries are inside them."""
    files = [path for path in sorted(root.rglob("*.sol")) if path.relative_to(root).parts[0] not in LEFT_OUT]
    return [name for path in files for name in re.findall(r"^contract (\w+)", path.read_text(), re.MULTILINE)]


def too_large(sizes: dict[str, int]) -> list[str]:
    """The contracts that have reached their ceiling."""
    ceilings = {name: LOWER.get(name, CEILING) for name in sizes}
    return [
        f"{name}: {size:,} bytes, not under {ceilings[name]:,}"
        for name, size in sizes.items()
        if size >= ceilings[name]
    ]


def main() -> None:
    measured = measure()
    sizes = {name: measured[name] for name in ours()}
    if not sizes:
        sys.exit(f"No contract in {CONTRACTS}: run this from the root of the checkout.")
    if found := too_large(sizes):
        sys.exit("Too large:\n  " + "\n  ".join(found))
    for name, size in sorted(sizes.items(), key=lambda item: -item[1]):
        print(f"{size:>7,}  {name}")
    print(f"All under {CEILING:,} bytes.")


if __name__ == "__main__":
    main()
