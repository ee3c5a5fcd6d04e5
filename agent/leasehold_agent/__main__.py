"""Where `leasehold-agent` begins: what it needs beyond the SDK may not be installed, and that is said."""

from __future__ import annotations

import sys
from importlib import import_module

_FOR_COLOURS = ("pygments", "rich")
_COLOURED = ("httpx", "structlog")


def main() -> None:
    """The console script."""
    try:
        _load_less()
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


def sentinel() -> None:
    """Where the process begins that answers in the agent's stead, once it has ended and is started again."""
    _load_less()
    from leasehold_agent.chain import begin_again

    memory, code = map(int, sys.argv[1:])
    begin_again(memory, code)


def _load_less() -> None:
    """What fetches over HTTP loads trio wherever it lies, for programs that run on it; that and what logs load rich,
    for colours. The agent has neither, and its memory is its host's. Verbs that draw tables load rich themselves.
    """
    sys.modules.setdefault("trio", None)  # type: ignore[arg-type]  # so an import finds that there is none
    hidden = [name for name in _FOR_COLOURS if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        for name in _COLOURED:
            import_module(name)
    finally:
        for name in hidden:
            del sys.modules[name]


if __name__ == "__main__":
    main()
