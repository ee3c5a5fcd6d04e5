/** What the page has been told to run, and the workload that it comes to. Pure. */
import {
  atHand,
  type DatasetMount,
  type HostImage,
  isPinned,
  newSecrets,
  reference,
  type Template,
  type WorkloadFields,
} from "../../sealing";

export interface Draft {
  /** A pinned image; empty: the one that the machine has for the template. */
  readonly image: string;
  /** A line for the shell; empty: what the template or the image runs. */
  readonly command: string;
  readonly internet: boolean;
  /** Read-only data, each at a path of its own. */
  readonly datasets: readonly DatasetMount[];
  /** Paths whose files come back, sealed to this account; several with spaces between. */
  readonly outputs: string;
  /** It ends with its command, whose outputs are packed then. */
  readonly job: boolean;
}

export const NEW_DRAFT: Draft = { image: "", command: "", internet: true, datasets: [], outputs: "", job: false };

const CID = /^(b[a-z2-7]{20,120}|Qm[1-9A-HJ-NP-Za-km-z]{44})$/;

/** Which image would run: the one that was named, else the machine's own for the template, else none. */
export function imageOf(draft: Draft, template: Template | undefined, images: readonly HostImage[]): string {
  if (draft.image.trim()) return draft.image.trim();
  const had = template && atHand(template, images);
  return had ? reference(had) : "";
}

/** What lacks before it can be rented, as a sentence; null: nothing. */
export function lacking(draft: Draft, template: Template | undefined, images: readonly HostImage[]): string | null {
  const image = imageOf(draft, template, images);
  if (!image && template?.workload.image) {
    return `This machine does not list ${template.workload.image}. Name the image by its digest, such as name@sha256:…`;
  }
  if (!image) return "Choose an image that the machine has, or name one by its digest.";
  if (!isPinned(image)) return "A tag may be another image tomorrow: name the image by its digest, name@sha256:…";
  if (template?.needs_command && !draft.command.trim()) return "This template runs what you name: write a command.";
  return lackingOfPaths(draft, template);
}

function lackingOfPaths(draft: Draft, template: Template | undefined): string | null {
  const unnamed = draft.datasets.find(({ cid }) => !CID.test(cid));
  if (unnamed)
    return unnamed.cid ? `“${unnamed.cid}” is no CID of data.` : "Name the data by its CID, or leave it out.";
  const paths = [...draft.datasets.map(({ path }) => path), ...outputPaths(draft)];
  const odd = paths.find((path) => !/^\/[^\0]*[^/\0]$/.test(path) || /(^|\/)\.{1,2}(\/|$)/.test(path));
  if (odd !== undefined) return `“${odd}” is no path in the container: write one such as /data.`;
  const all = [...paths, ...(template?.workload.outputs ?? []).map(({ path }) => path)];
  const inside = all.find((path, at) => all.some((other, place) => place !== at && `${path}/`.startsWith(`${other}/`)));
  return inside === undefined ? null : `${inside} lies in another path that is named: give each a place of its own.`;
}

/** The paths whose files come back. */
export function outputPaths(draft: Draft): string[] {
  return draft.outputs.split(/\s+/).filter(Boolean);
}

/** The workload, with secrets made anew. Whom outputs are sealed to is added when it is rented. */
export function workloadOf(draft: Draft, template: Template | undefined, images: readonly HostImage[]): WorkloadFields {
  const command = draft.command.trim();
  const outputs = [...(template?.workload.outputs ?? []), ...outputPaths(draft).map((path) => ({ path }))];
  return {
    ...template?.workload,
    image: imageOf(draft, template, images),
    ...(command ? { command: ["sh", "-c", command] } : {}),
    ...(draft.internet ? {} : { egress: { mode: "none" as const } }),
    ...(draft.job ? { kind: "batch" as const } : {}),
    ...(draft.datasets.length ? { datasets: draft.datasets } : {}),
    ...(outputs.length ? { outputs } : {}),
    ...(template?.secrets.length ? { secrets: newSecrets(template) } : {}),
  };
}
