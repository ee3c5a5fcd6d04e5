/** Where a lease stands, in words: that a job's command has ended, and how, is said while it is billed and afterwards. */
import { expect, test } from "vitest";
import type { LeaseStatus } from "../../src/agent";
import { LeaseState } from "../../src/chain";
import { standing } from "../../src/pages/lease/standing";
import { lease, rules } from "../providing/chain";

function status(changed: Partial<LeaseStatus>): LeaseStatus {
  return {
    ...{ lease: "1", phase: "running", reason: null, progress: null, ports: [], host: null, exit_code: null },
    ...{ kept: null, result_cid: null },
    ...changed,
  };
}

const said = (state: number, agent: LeaseStatus | undefined) => standing(lease(1n, { state }), rules(), agent).now;

test.each([
  [0, false, "Its command is done: it ended well, with code 0. The lease is billed until it is closed."],
  [3, false, "Its command failed, with code 3. The lease is billed until it is closed."],
  [0, true, "Its command is done: it ended well, with code 0. The machine closes the lease."],
])("a command that ended with %i says so, and what becomes of the bill", (exit_code, closes_when_done, words) => {
  expect(said(LeaseState.active, status({ phase: "finished", exit_code, closes_when_done }))).toBe(words);
});

test("a lease that is over says how its command ended, where the machine knows", () => {
  const { ended, cancelled } = LeaseState;
  expect(said(ended, undefined)).toBe("It is over.");
  expect(said(ended, status({ phase: "ended" }))).toBe("It is over.");
  expect(said(ended, status({ phase: "ended", exit_code: 0 }))).toBe(
    "It is over. Its command is done: it ended well, with code 0.",
  );
  expect(said(cancelled, status({ phase: "ended", exit_code: 1 }))).toBe("It was never started: all of it came back.");
  const kept = { until: 2_000_000_000, paid_until: 2_000_000_000, read_seconds: 60 };
  const left = standing(lease(1n, { state: ended }), rules(), status({ phase: "ended", exit_code: 2, kept }));
  expect(left.at).toBe("kept");
  expect(left.now).toBe("It is over. Its command failed, with code 2. Its container is kept for a while.");
});
