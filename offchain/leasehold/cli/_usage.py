"""What is said of a command line that cannot be understood: one sentence, as of everything else that is refused."""

from __future__ import annotations

from typer._click.exceptions import BadOptionUsage, ClickException, NoArgsIsHelpError, UsageError

__all__ = ["ClickException", "NoArgsIsHelpError", "usage_sentence"]


def usage_sentence(error: ClickException) -> str:
    """What is wrong, and what was meant or where it is explained."""
    problem = " ".join(error.format_message().split()).removesuffix(".")
    if isinstance(error, BadOptionUsage):
        return f"{problem}: write its value behind it."
    if problem.endswith("?") or not isinstance(error, UsageError) or error.ctx is None:
        return problem if problem.endswith("?") else f"{problem}."
    return f"{problem}: see `{error.ctx.command_path} --help`."
