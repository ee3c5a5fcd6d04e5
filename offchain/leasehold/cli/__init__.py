"""The command line, `leasehold`. docs/reference/cli.md is its reference."""

from leasehold.cli._app import app, main

__all__ = ["app", "main"]
