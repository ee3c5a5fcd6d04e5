"""Where `leasehold-agent` begins: what it needs beyond the SDK may not be installed, and that is said."""

from __future__ import annotations

import sys


def main() -> None:
    """The console script."""
    _without_trio()
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


def _without_trio() -> None:
    """What fetches over HTTP loads trio wherever it lies, for programs that run on it. This one does not, and its
    memory is its host's.
    """
    sys.modules.setdefault("trio", None)  # type: ignore[arg-type]  # so an import finds that there is none


if __name__ == "__main__":
    main()
