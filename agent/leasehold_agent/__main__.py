"""Where `leasehold-agent` begins: what it needs beyond the SDK may not be installed, and that is said."""

from __future__ import annotations

import sys


def main() -> None:
    """The console script."""
    try:
        from leasehold_agent.cli import main as begin
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in ("", "leasehold", "leasehold_agent"):
            raise
        print(
            f"The agent needs {missing}, which is not installed: run `pip install 'leasehold[agent]'`.",
            file=sys.stderr,
        )
        sys.exit(1)
    begin()


if __name__ == "__main__":
    main()
