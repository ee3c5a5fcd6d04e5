"""Proves the lemmas of tests/proofs/Lemmas.sol of all whole numbers, with z3. Part of `make halmos`, in whose
environment it runs: what Halmos is told to assume there is no more than what is proven here.

A lemma reads `a <= b and c <= d => a * c <= b * d`. Every name is a whole number >= 0, and k is > 0.
"""

import ast
import re
import sys
from pathlib import Path

import z3

LEMMAS = Path(__file__).resolve().parents[1] / "tests/proofs/Lemmas.sol"
TIMEOUT = 60_000  # milliseconds


class Reader:
    """Turns an expression into z3's, each quotient into a number of its own with what makes it one."""

    def __init__(self) -> None:
        self.names: dict[str, z3.ArithRef] = {}
        self.facts: list[z3.BoolRef] = []

    def term(self, node: ast.expr) -> z3.ArithRef:
        match node:
            case ast.Name(id=name):
                if name not in self.names:
                    self.names[name] = z3.Int(name)
                    self.facts.append(self.names[name] >= (1 if name == "k" else 0))
                return self.names[name]
            case ast.Constant(value=int(value)):
                return z3.IntVal(value)
            case ast.BinOp(left=left, op=op, right=right):
                a, b = self.term(left), self.term(right)
                match op:
                    case ast.Add():
                        return a + b
                    case ast.Sub():
                        return a - b
                    case ast.Mult():
                        return a * b
                    case ast.Div():
                        quotient = z3.Int(f"q{len(self.facts)}")
                        self.facts += [quotient * b <= a, a < quotient * b + b]
                        return quotient
        raise SystemExit(f"not understood: {ast.unparse(node)}")

    def claim(self, text: str) -> z3.BoolRef:
        claims = []
        for part in text.split(" and "):
            node = ast.parse(part.strip(), mode="eval").body
            if not isinstance(node, ast.Compare):
                raise SystemExit(f"not understood: {part}")
            left, right = self.term(node.left), self.term(node.comparators[0])
            claims.append(left <= right if isinstance(node.ops[0], ast.LtE) else left == right)
        return z3.And(*claims)


def proven(lemma: str) -> bool:
    """Whether no numbers contradict the lemma."""
    premise, _, conclusion = lemma.rpartition("=>")
    reader = Reader()
    solver = z3.Solver()
    solver.set("timeout", TIMEOUT)
    if premise:
        solver.add(reader.claim(premise))
    claim = reader.claim(conclusion)
    solver.add(*reader.facts)
    solver.add(z3.Not(claim))
    return bool(solver.check() == z3.unsat)


def main() -> None:
    lemmas = re.findall(r"@dev lemma: (.+)\n\s*function (\w+)", LEMMAS.read_text())
    functions = re.findall(r"function (\w+)\([^)]*\) internal", LEMMAS.read_text())
    if [name for _, name in lemmas] != functions or not lemmas:
        sys.exit("A function of Lemmas.sol has no lemma above it.")
    if proven("x <= y => y <= x"):
        sys.exit("A wrong lemma passes: the check itself is broken.")
    failed = [name for lemma, name in lemmas if not proven(lemma)]
    for lemma, name in lemmas:
        print(f"  {'not proven' if name in failed else 'proven    '}  {name}: {lemma}")
    if failed:
        sys.exit(f"Not proven: {', '.join(failed)}")


if __name__ == "__main__":
    main()
