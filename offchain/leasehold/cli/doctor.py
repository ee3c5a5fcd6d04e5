"""`leasehold doctor`: tries everything that renting needs, and says how to mend what does not work."""

from __future__ import annotations

import sys

from leasehold.cli._command import ANSWERS, PASSWORD_FILE, WALLET, Invocation, shared
from leasehold.cli._hints import said
from leasehold.client import Finding, LockedWallet, Setup, examine
from leasehold.errors import LeaseholdError


@shared(ANSWERS | WALLET | PASSWORD_FILE)
async def doctor(call: Invocation) -> int:
    """Try everything that renting needs, and say how to mend what does not work. Nothing is sent.

    It leaves with 0 where all works, else with 1.
    """
    findings = list[Finding]()
    with call.out.working("Trying everything"):
        async for finding in examine(_setup(call)):
            findings.append(finding)
            if not call.out.as_json:
                call.out.say(_line(finding))
    call.out.answer(
        [
            {
                "what": finding.what,
                "works": finding.problem is None,
                "said": said(finding.problem) if finding.problem else finding.said,
                "code": finding.problem.code if finding.problem else None,
            }
            for finding in findings
        ]
    )
    wrong = sum(finding.problem is not None for finding in findings)
    call.out.say("All works." if not wrong else f"{wrong} of {len(findings)} do not work.")
    return 1 if wrong else 0


def _line(finding: Finding) -> str:
    mark = "ok   " if finding.problem is None else "WRONG"
    return f"{mark} {finding.what}: {said(finding.problem) if finding.problem else finding.said}"


def _setup(call: Invocation) -> Setup:
    """What the settings say. A password is asked for at a terminal; else it has to be there."""
    settings, wallet, problem = call.settings, None, None
    try:
        wallet = LockedWallet(call.home, call.chosen(), call.password)
    except LeaseholdError as error:
        problem = error
    opens = call.password_file is not None or settings.password is not None or sys.stdin.isatty()
    return Setup(call.home, settings.deployment, settings.rpc, settings.ipfs, wallet, problem, opens)
