import type { AlertWay } from "../../api/alerts";

const KINDS: Readonly<Record<string, string>> = {
  notice: "Its provider gives notice",
  "end-near": "It ends soon, and nobody extends it",
  "escrow-low": "What was put aside does not pay for the next extension",
  outage: "Its machine is down, or its agent says nothing",
  "not-started": "It was declined, or not started in time",
  started: "It has started",
  ended: "It is over",
  price: "The same card costs less elsewhere",
};
const WAYS: Readonly<Record<AlertWay, string>> = { webhook: "Webhook", ntfy: "ntfy", mail: "E-mail" };

export const saidKind = (kind: string): string => KINDS[kind] ?? kind;
export const saidWay = (way: AlertWay): string => WAYS[way];

/** What is ticked before somebody chooses. */
export const USUAL = new Set(["notice", "end-near", "escrow-low", "outage", "not-started", "ended"]);
