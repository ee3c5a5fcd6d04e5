/** What the page has been told to run, and the workload that it comes to. Pure. */
import {
  atHand,
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
}

export const NEW_DRAFT: Draft = { image: "", command: "", internet: true };

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
  return null;
}

/** The workload, with secrets made anew. */
export function workloadOf(draft: Draft, template: Template | undefined, images: readonly HostImage[]): WorkloadFields {
  const command = draft.command.trim();
  return {
    ...template?.workload,
    image: imageOf(draft, template, images),
    ...(command ? { command: ["sh", "-c", command] } : {}),
    ...(draft.internet ? {} : { egress: { mode: "none" as const } }),
    ...(template?.secrets.length ? { secrets: newSecrets(template) } : {}),
  };
}
