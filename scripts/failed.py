"""Names the tests that failed in the last run, and says by its exit code whether another look at them is worth it.

python scripts/failed.py --most 3

Exit code 1 where none failed by name (then it was something else: a gate, a file that cannot be imported), or too many:
what fails by chance fails alone.
"""

import argparse
import json
import sys
from pathlib import Path

LAST_FAILED = Path(".pytest_cache/v/cache/lastfailed")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--most", type=int, required=True, help="how many may have failed")
    most = parser.parse_args().most
    failed = failed_tests(LAST_FAILED)
    print(
        "\n".join(["These failed, and one that passes alone is a race to mend:", *failed] if failed else [])
    )
    if 0 < len(failed) <= most:
        return 0
    print(f"{len(failed)} tests failed by name; 1 to {most} are looked at once more.", file=sys.stderr)
    return 1


def failed_tests(recorded: Path) -> list[str]:
    """The tests' names, as pytest wrote them down; a file that could not be collected is none."""
    if not recorded.exists():
        return []
    return [name for name in json.loads(recorded.read_text()) if "::" in name]


if __name__ == "__main__":
    sys.exit(main())
