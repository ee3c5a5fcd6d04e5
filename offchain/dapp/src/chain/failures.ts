/** What a node, a wallet or a contract refused with, in words: its `Problem`, whatever was thrown. */
import { decodeErrorResult, type Hex } from "viem";
import type { Money } from "../format";
import { Problem } from "../problem";
import { controllerAbi, faultsAbi } from "./generated/abi";
import { contractErrors } from "./generated/errors";
import { fill } from "./words";

const REJECTED = 4001;
const UNKNOWN_CHAIN = 4902;
const DEPTH = 12;

interface Said {
  readonly code: string;
  readonly problem: string;
  readonly advice: string;
  readonly fields: readonly string[];
}

/** The Problem that `error` is. `doing`: what was asked for, as the end of “You said no to …”. */
export function problemOf(error: unknown, doing: string, money?: Money): Problem {
  if (error instanceof Problem) return error;
  const chain = causes(error);
  if (chain.some((cause) => cause.code === REJECTED)) {
    return new Problem("wallet-refused", `You said no to ${doing}.`, "Nothing was signed and nothing was sent.");
  }
  if (chain.some((cause) => cause.code === UNKNOWN_CHAIN)) {
    return new Problem("chain-unknown", "Your wallet does not know this network.", "Add it in your wallet first.");
  }
  const data = chain.map(revertData).find((found) => found !== undefined);
  if (data) return refusal(data, money);
  const network = chain.some((cause) => ["HttpRequestError", "TimeoutError", "TypeError"].includes(cause.name ?? ""));
  if (network) {
    return new Problem("node-unreachable", "No node of the chain answers.", "Nothing was sent; try again in a moment.");
  }
  const last = chain.at(-1);
  const said = last?.shortMessage ?? last?.message ?? String(error);
  return new Problem("failed", `It was not possible to do ${doing}: ${said}`, "Try again.", { cause: error });
}

/** A contract's refusal by its data. */
export function refusal(data: Hex, money?: Money): Problem {
  try {
    const decoded = decodeErrorResult({ abi: [...controllerAbi, ...faultsAbi], data });
    const said = (contractErrors as Readonly<Record<string, Said>>)[decoded.errorName];
    const given = (decoded.args ?? []) as readonly unknown[];
    if (said) {
      const values = Object.fromEntries(said.fields.map((field, index) => [field, given[index]]));
      return new Problem(
        said.code,
        sentence(fill(said.problem, values, money)),
        sentence(fill(said.advice, values, money)),
      );
    }
    if ((decoded.errorName as string) === "Error") {
      return new Problem("reverted", `The contract refuses: ${String(given[0])}.`, "Nothing was spent but gas.");
    }
  } catch {
    // Another contract's error: its bytes are all there is.
  }
  return new Problem("unknown-revert", `A contract refuses with ${data.slice(0, 10)}.`, "Nothing was moved.");
}

function sentence(words: string): string {
  const trimmed = words.trim().replace(/;$/, "");
  if (!trimmed) return "";
  const begun = trimmed.charAt(0).toUpperCase() + trimmed.slice(1);
  return /[.?!]$/.test(begun) ? begun : `${begun}.`;
}

interface Cause {
  readonly name?: string;
  readonly code?: unknown;
  readonly data?: unknown;
  readonly message?: string;
  readonly shortMessage?: string;
}

/** The error and what lies beneath it, outermost first. */
function causes(error: unknown): Cause[] {
  const found: Cause[] = [];
  let at = error;
  while (typeof at === "object" && at !== null && found.length < DEPTH) {
    found.push(at as Cause);
    at = (at as { cause?: unknown }).cause;
  }
  return found;
}

function revertData(cause: Cause): Hex | undefined {
  const inner = typeof cause.data === "object" && cause.data !== null ? (cause.data as Cause).data : cause.data;
  return typeof inner === "string" && /^0x[0-9a-f]{8,}$/i.test(inner) ? (inner as Hex) : undefined;
}
