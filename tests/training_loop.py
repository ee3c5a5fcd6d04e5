"""A training loop that counts its steps, for whoever tries out what becomes of it: it goes on from where it left off,
and ends with the same weights however often it was interrupted.
"""

from __future__ import annotations

import hashlib

CODE = """\
at=$LEASEHOLD_CHECKPOINT
[ -e $at/state ] && read step weights < $at/state || { step=0; weights=seed; }
echo "begins at $step"
while [ $step -lt %d ]; do
  step=$((step + 1))
  weights=$(echo "$weights $step" | sha256sum | cut -c1-64)
  echo "$step $weights" > $at/state.new && mv $at/state.new $at/state
  echo "step $step"
  sleep %s
done
mkdir -p /out && echo "$weights" > /out/weights
"""


def training(steps: int, pause: str = "0.2") -> list[str]:
    """The command: so many steps, with seconds between them."""
    return ["sh", "-c", CODE % (steps, pause)]


def undisturbed(steps: int) -> str:
    """The weights that it ends with."""
    weights = "seed"
    for step in range(1, steps + 1):
        weights = hashlib.sha256(f"{weights} {step}\n".encode()).hexdigest()
    return weights
