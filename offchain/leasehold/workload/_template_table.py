"""The table `[template]` of a template's file."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from leasehold.workload._model import SecretName
from leasehold.workload._values import WorkloadPart

Line = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f-\x9f]*$")]


class TemplateTable(WorkloadPart):
    """summary: what it is. secrets: made anew for each lease. needs_command: it runs what somebody names, and nothing
    by itself. use: lines for people, what to do once it runs; `LEASE` stands for the lease, `<name>` for a secret.
    """

    summary: Line = "a template without a summary"
    secrets: Annotated[tuple[SecretName, ...], Field(max_length=16)] = ()
    needs_command: bool = False
    use: Annotated[tuple[Line, ...], Field(max_length=16)] = ()
