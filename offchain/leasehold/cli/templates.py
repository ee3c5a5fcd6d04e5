"""`leasehold templates`: workloads to start from."""

from __future__ import annotations

from typing import Annotated

import typer

from leasehold.cli._command import ANSWERS, Invocation, shared
from leasehold.cli._options import argument
from leasehold.workload import all_templates, find_template


@shared(ANSWERS, "list")
async def list_templates(call: Invocation) -> None:
    """List the templates for `leasehold rent --template`: those that come along, and your own.

    Your own are files like these in the folder `templates` of your home; one with the same name counts instead.
    """
    templates = all_templates(call.home.templates)
    told = [template.to_json() for template in templates]
    rows = [(template.name, template.table.summary, template.image or "-") for template in templates]
    call.out.listing(told, ("name", "what it is", "image"), rows, empty="There is no template.")


@shared(ANSWERS)
async def show(
    call: Invocation, name: Annotated[str, argument("NAME", "As in the list, or a file.")]
) -> None:
    """Print a template, to read it, or to change it: `leasehold templates show ubuntu > mine.toml`."""
    template = find_template(name, call.home.templates)
    call.out.answer({"name": template.name, "text": template.text})
    if not call.out.as_json:
        typer.echo(template.text, nl=False)
