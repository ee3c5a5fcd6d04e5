/**
 * What a lease runs, in the one JSON form that the library's `Workload.canonical` has: docs/reference/workload.md.
 *
 * The browser makes such documents and reads none: what an agent would refuse is the agent's to refuse, before billing.
 */
import { Problem } from "../problem";

export interface Port {
  readonly container: number;
  readonly host?: number;
  readonly protocol?: "tcp" | "udp";
}

export interface Output {
  readonly path: string;
  readonly public?: boolean;
  readonly recipients?: readonly string[];
}

/** Read-only at `path`. `key`: the age identity that opens a sealed one. */
export interface DatasetMount {
  readonly cid: string;
  readonly path: string;
  readonly key?: string;
}

export interface Volume {
  readonly name: string;
  readonly path: string;
  readonly size?: number;
  readonly source?: string;
  readonly key?: string;
}

/** The fields that a page or a template fills; sizes in bytes, times in seconds. */
export interface WorkloadFields {
  readonly kind?: "container" | "batch";
  readonly image: string;
  readonly command?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly secrets?: Readonly<Record<string, string>>;
  readonly cpu?: number;
  readonly memory?: number;
  readonly disk?: number;
  readonly shm?: number;
  readonly share?: string;
  readonly ports?: readonly Port[];
  readonly outputs?: readonly Output[];
  readonly datasets?: readonly DatasetMount[];
  readonly tenant?: string;
  readonly ssh_keys?: readonly string[];
  readonly readiness?: {
    readonly command?: readonly string[];
    readonly http?: { readonly port: number; readonly path?: string };
    readonly timeout?: number;
  };
  readonly restart?: "never" | "on-failure" | "always";
  readonly grace?: number;
  readonly egress?: { readonly mode: "none" | "internet" | "allow"; readonly allow?: readonly string[] };
  readonly runtime?: "runc" | "gvisor";
  readonly name?: string;
  readonly entrypoint?: readonly string[];
  readonly workdir?: string;
  readonly user?: string;
  readonly volumes?: readonly Volume[];
}

const PINNED = /^(sha256:[0-9a-f]{64}|[a-z0-9][a-zA-Z0-9._:/-]{0,254}@sha256:[0-9a-f]{64}|ipfs:(Qm|b)[A-Za-z0-9]+)$/;

/** Whether the image is named by what is in it. A tag is its registry's to move, and is sealed nowhere. */
export function isPinned(image: string): boolean {
  return PINNED.test(image);
}

/** The document's bytes: sorted keys, no spaces, UTF-8, defaults written out, what was left out left out. */
export function canonical(fields: WorkloadFields): Uint8Array {
  if (!isPinned(fields.image)) {
    throw new Problem(
      "image-not-pinned",
      `“${fields.image}” may be another image tomorrow.`,
      "Name it by its digest (name@sha256:…), or choose one that the machine has.",
    );
  }
  return new TextEncoder().encode(ordered(completed(fields)));
}

/** With every default of version 1 written out. */
function completed(fields: WorkloadFields): object {
  return {
    version: 1,
    kind: "container",
    command: [],
    env: {},
    secrets: {},
    datasets: [],
    ssh_keys: [],
    restart: "never",
    grace: 10,
    runtime: "runc",
    ...fields,
    ports: (fields.ports ?? []).map((port) => ({ protocol: "tcp", ...port })),
    outputs: (fields.outputs ?? []).map((output) => ({ public: false, recipients: [], ...output })),
    egress: { allow: [], ...(fields.egress ?? { mode: "internet" }) },
    readiness: fields.readiness && {
      timeout: 60,
      ...fields.readiness,
      http: fields.readiness.http && { path: "/", ...fields.readiness.http },
    },
  };
}

/** JSON with sorted keys. `cpu` is the one number that is a fraction there: a whole one is written as `2.0`. */
function ordered(value: unknown, key = ""): string {
  if (Array.isArray(value)) return `[${value.map((item) => ordered(item)).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).filter(([, held]) => held !== undefined && held !== null);
    entries.sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${entries.map(([name, held]) => `${JSON.stringify(name)}:${ordered(held, name)}`).join(",")}}`;
  }
  if (key === "cpu" && Number.isInteger(value)) return `${String(value)}.0`;
  return JSON.stringify(value);
}
