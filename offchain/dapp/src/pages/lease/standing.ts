/** Where a lease stands, in stations and words: by the chain, and by its agent's word where that is known. Pure. */
import type { LeaseStatus } from "../../agent";
import { type Lease, LeaseState, type Params } from "../../chain";
import { formatDuration } from "../../format";
import type { Station } from "../../ui/Stations";

export interface Standing {
  readonly at: Station;
  readonly since: number;
  readonly now: string;
  readonly percent?: number;
  readonly keptUntil?: number;
}

const PREPARING = ["pulling", "fetching", "starting"];

export function standing(lease: Lease, params: Params, status: LeaseStatus | undefined): Standing {
  if (lease.state === LeaseState.opened) return beforeStart(lease, params, status);
  if (lease.state === LeaseState.active) return running(lease, status);
  const kept = status?.kept;
  if (kept)
    return {
      at: "kept",
      since: lease.end,
      now: `${overOf(lease, status)} Its container is kept for a while.`,
      keptUntil: kept.until,
    };
  return { at: "ended", since: lease.end, now: overOf(lease, status) };
}

function beforeStart(lease: Lease, params: Params, status: LeaseStatus | undefined): Standing {
  const since = lease.start;
  if (status?.phase === "ready") return { at: "ready", since, now: "It is ready; the machine says so on the chain." };
  if (status && PREPARING.includes(status.phase)) {
    const percent = percentOf(status.progress);
    const now = `The machine is ${status.phase}${status.progress ? `: ${status.progress}` : ""}. Nothing is billed yet.`;
    return percent === undefined ? { at: "preparing", since, now } : { at: "preparing", since, now, percent };
  }
  const window = formatDuration(params.startWindow);
  return { at: "opened", since, now: `The machine has ${window} to start it; else all of it comes back.` };
}

function running(lease: Lease, status: LeaseStatus | undefined): Standing {
  const since = lease.start;
  if (status?.phase === "finished") {
    return {
      at: "running",
      since,
      now: `${finished(status.exit_code)} ${status.closes_when_done ? "The machine closes the lease." : "The lease is billed until it is closed."}`,
    };
  }
  if (status?.phase === "stopped") return { at: "running", since, now: "It stands still at your word, and is billed." };
  return { at: "running", since, now: "It runs and is billed by the second." };
}

const OVER: Readonly<Record<number, string>> = {
  [LeaseState.cancelled]: "It was never started: all of it came back.",
  [LeaseState.rejected]: "It was given back before its time.",
};

function overOf(lease: Lease, status: LeaseStatus | undefined): string {
  if (lease.state !== LeaseState.ended) return OVER[lease.state] ?? "It is over.";
  return status && status.exit_code !== null ? `It is over. ${finished(status.exit_code)}` : "It is over.";
}

/** How a command ended that was not ended by anybody. */
function finished(code: number | null): string {
  if (code === null) return "Its command has ended.";
  return code === 0 ? "Its command is done: it ended well, with code 0." : `Its command failed, with code ${code}.`;
}

function percentOf(progress: string | null): number | undefined {
  const found = /(\d{1,3}) ?%/.exec(progress ?? "");
  return found ? Math.min(100, Number(found[1])) : undefined;
}
