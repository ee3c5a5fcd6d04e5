"""`leasehold doctor`: tries everything that renting needs, and says how to mend what does not work."""

from __future__ import annotations

import sys

from leasehold.cli._command import ANSWERS, PASSWORD_FILE, WALLET, Invocation, shared
from leasehold.cli._hints import said
from leasehold.client import Diagnosis, LockedWallet, Setup, examine
from leasehold.errors import LeaseholdError


@shared(ANSWERS | WALLET | PASSWORD_FILE)
async def doctor(call: Invocation) -> int:
    """Try everything that renting needs, and say how to mend what does not work. Nothing is sent.

    It leaves with 0 where all works, else with 1.
    """
    diagnoses = list[Diagnosis]()
    with call.out.working("Trying everything"):
        async for diagnosis in examine(_setup(call)):
            diagnoses.append(diagnosis)
            if not call.out.as_json:
                call.out.say(_line(diagnosis))
    call.out.answer([diagnosis.to_json(said) for diagnosis in diagnoses])
    wrong = sum(diagnosis.problem is not None for diagnosis in diagnoses)
    call.out.say("All works." if not wrong else f"{wrong} of {len(diagnoses)} do not work.")
    return 1 if wrong else 0


def _line(diagnosis: Diagnosis) -> str:
    mark = "ok   " if diagnosis.problem is None else "WRONG"
    return f"{mark} {diagnosis.what}: {diagnosis.line(said)}"


def _setup(call: Invocation) -> Setup:
    """What the settings say. A password is asked for at a terminal; else it has to be there."""
    settings, wallet, problem = call.settings, None, None
    try:
        wallet = LockedWallet(call.home, call.chosen(), call.password)
    except LeaseholdError as error:
        problem = error
    opens = call.password_file is not None or settings.password is not None or sys.stdin.isatty()
    return Setup(call.home, settings.deployment, settings.rpc, settings.ipfs, wallet, problem, opens)
