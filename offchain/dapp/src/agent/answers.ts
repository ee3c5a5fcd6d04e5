/**
 * What a machine's agent says of a lease, read before any page shows it. It is its owner's word, by way of a gateway: what
 * is no status or figure is refused, so that it breaks no page on which a lease is closed.
 */
import { Problem } from "../problem";
import type { Kept, LeaseMetrics, LeaseReading, LeaseStatus, OpenPort, Phase } from "./documents";

const YEAR_9999 = 253_402_300_799;
const MOST_PORTS = 64;
const MOST_LETTERS = 1_000;
const MOST_READINGS = 2_000;
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
/** A host as agents name it: a name, or an address of either kind. Nothing else may stand before the port in a link. */
const HOST = /^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$|^[0-9A-Fa-f:]{2,39}$/;
const PHASE = /^[a-z-]{1,32}$/;
const CID = /^[A-Za-z0-9]{1,128}$/;
const FIGURES = ["cpu_seconds", "memory", "processes", "received", "sent", "card_memory", "card_busy"] as const;

type Said = Readonly<Record<string, unknown>>;

/** How a lease is. Throws a Problem for what no agent says. */
export async function statusIn(response: Response): Promise<LeaseStatus> {
  const said = objectIn(await jsonIn(response));
  return {
    lease: textIn(said.lease) ?? "",
    phase: matching(said.phase, PHASE) as Phase,
    reason: textIn(said.reason),
    progress: textIn(said.progress),
    ports: listIn(said.ports, MOST_PORTS).map(portIn),
    host: said.host == null ? null : matching(said.host, HOST),
    exit_code: said.exit_code == null ? null : wholeIn(said.exit_code, -(2 ** 31), 2 ** 32),
    closes_when_done: said.closes_when_done === true,
    kept: said.kept == null ? null : keptIn(said.kept),
    result_cid: said.result_cid == null ? null : matching(said.result_cid, CID),
  };
}

/** The newest of its figures, no more than are drawn. Throws a Problem for what no agent says. */
export async function metricsIn(response: Response): Promise<LeaseMetrics> {
  const { readings } = objectIn(await jsonIn(response));
  return { readings: listIn(readings).slice(-MOST_READINGS).map(readingIn) };
}

async function jsonIn(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch (error) {
    if (error instanceof SyntaxError) throw confused();
    throw error;
  }
}

function portIn(value: unknown): OpenPort {
  const { container, host, protocol } = objectIn(value);
  const said = protocol === "udp" ? protocol : matching(protocol, /^tcp$/);
  return { container: wholeIn(container, 0, 65_535), host: wholeIn(host, 0, 65_535), protocol: said };
}

function keptIn(value: unknown): Kept {
  const said = objectIn(value);
  const [until, paid_until, read_seconds] = [said.until, said.paid_until, said.read_seconds ?? 0].map((time) =>
    wholeIn(time, 0, YEAR_9999),
  ) as [number, number, number];
  return { until, paid_until, read_seconds };
}

/** A figure with which nobody can count is one that is not known. */
function readingIn(value: unknown): LeaseReading {
  const said = objectIn(value);
  const figures = FIGURES.map((name) => {
    const figure = said[name];
    return [name, typeof figure === "number" && Number.isFinite(figure) ? figure : null] as const;
  });
  const known = Object.fromEntries(figures) as Omit<LeaseReading, "at">;
  return { at: wholeIn(said.at, 0, YEAR_9999), ...known };
}

function objectIn(value: unknown): Said {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw confused();
  return value as Said;
}

function listIn(value: unknown, most = Number.POSITIVE_INFINITY): readonly unknown[] {
  if (!Array.isArray(value) || value.length > most) throw confused();
  return value;
}

function matching(value: unknown, form: RegExp): string {
  if (typeof value !== "string" || !form.test(value)) throw confused();
  return value;
}

function wholeIn(value: unknown, least: number, most: number): number {
  if (!Number.isInteger(value) || (value as number) < least || (value as number) > most) throw confused();
  return value as number;
}

/** A text for people: of bounded length, and without what is not seen, which turns round what stands beside it. */
function textIn(value: unknown): string | null {
  if (value == null) return null;
  if (typeof value !== "string") throw confused();
  return value
    .slice(0, 2 * MOST_LETTERS)
    .replace(UNSEEN, "")
    .slice(0, MOST_LETTERS);
}

function confused(): Problem {
  return new Problem(
    "agent-confused",
    "The machine says something of the lease that cannot be read.",
    "The lease runs on, and is closed on this page as ever. Ask its provider, or use another gateway.",
  );
}
