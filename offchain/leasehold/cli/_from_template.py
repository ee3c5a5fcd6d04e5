"""A workload out of a template, with secrets of its own, which are shown once."""

from __future__ import annotations

import copy
from collections.abc import Collection, Sequence

from leasehold.cli._command import Invocation
from leasehold.market import InvalidInput
from leasehold.workload import Template, find_template


def from_template(
    call: Invocation, named: str, given: Collection[str], command: Sequence[str] | None
) -> dict[str, object]:
    """The workload's fields. given: secrets that somebody gives himself.

    Raises:
        TemplateUnknown, WorkloadInvalid: there is no such template. InvalidInput: it needs a command.
    """
    template = find_template(named, call.home.templates)
    if template.table.needs_command and not command:
        raise InvalidInput(f"Template {template.name} runs a command of yours: write it behind `--`.")
    data, made = copy.deepcopy(dict(template.content)), template.new_secrets(given)
    if made:
        present = data.get("secrets")
        data["secrets"] = {**(present if isinstance(present, dict) else {}), **made}
    _say(call, template, {} if call.dry_run else made)
    return data


def _say(call: Invocation, template: Template, made: dict[str, str]) -> None:
    """What is made is shown here and nowhere again, but to who looks inside the container."""
    rows = [*made.items(), *(("then" if at == 0 else "", line) for at, line in enumerate(template.table.use))]
    call.out.pairs(f"Template {template.name}: {template.table.summary}", rows)
