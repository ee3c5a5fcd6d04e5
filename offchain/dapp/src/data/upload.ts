/** Sealed bytes on their way to a gateway's IPFS node: in pieces, from where they broke off, and believed by their CID alone. */
import { Problem } from "../problem";

/** How an upload stands, by the gateway's word. `cid`: once it is on IPFS. */
export interface UploadStanding {
  readonly id: string;
  readonly size: number;
  readonly offset: number;
  readonly cid: string | null;
}

/** Where uploads go. What cannot be reached, or is busy, throws a Problem whose code is in `AGAIN`. */
export interface UploadPlace {
  readonly begin: (size: number, name: string) => Promise<UploadStanding>;
  readonly standing: (id: string) => Promise<UploadStanding>;
  readonly send: (id: string, offset: number, piece: Blob, signal?: AbortSignal) => Promise<UploadStanding>;
  readonly drop: (id: string) => Promise<void>;
}

export const PIECE = 8 << 20;
const AGAIN: ReadonlySet<string> = new Set([
  "gateway-unreachable",
  "busy",
  "conflict",
  "too-many-calls",
  "not-ready",
  "gateway-failed",
]);
const MOST_FAILURES = 8; // one after the other, without a byte more
const MOST_LOOKS = 600; // for the CID of what is whole

export interface Sending {
  /** What was sealed, and the CID that was worked out here. */
  readonly bytes: Blob;
  readonly cid: string;
  readonly name: string;
  /** An upload that broke off, or null. */
  readonly id: string | null;
  readonly begun: (id: string) => void;
  readonly progress: (done: number, all: number) => void;
  /** Waits for milliseconds. */
  readonly wait: (milliseconds: number) => Promise<void>;
  readonly signal?: AbortSignal;
}

/** Sends all of it. Throws a Problem, also where the gateway made something else of it. */
export async function sendUpload(place: UploadPlace, sending: Sending): Promise<void> {
  const { bytes, cid, signal } = sending;
  let now = await begun(place, sending);
  for (let failures = 0; now.offset < bytes.size; ) {
    signal?.throwIfAborted();
    sending.progress(now.offset, bytes.size);
    const before = now.offset;
    try {
      now = checked(await place.send(now.id, before, bytes.slice(before, before + PIECE), signal), bytes.size);
      if (now.offset <= before) failures = await again(sending, failures);
      else failures = 0;
    } catch (error) {
      if (!worthAgain(error)) throw error;
      failures = await again(sending, failures, error);
      now = checked(await looked(place, now, sending), bytes.size);
    }
  }
  sending.progress(bytes.size, bytes.size);
  for (let looks = 0; now.cid === null; looks += 1) {
    signal?.throwIfAborted();
    if (looks >= MOST_LOOKS)
      throw new Problem(
        "upload-stuck",
        "The gateway does not put the upload on IPFS.",
        "Look again later: it is all there.",
      );
    await sending.wait(1_000);
    now = await looked(place, now, sending);
  }
  if (now.cid !== cid) {
    throw new Problem(
      "upload-swapped",
      "The gateway has made something else of what was sent: its CID is another.",
      "Use another gateway: this data was sealed, and nothing of it can be read.",
      { details: `sealed here: ${cid}\nthe gateway: ${now.cid}` },
    );
  }
}

async function begun(place: UploadPlace, { bytes, name, id, begun }: Sending): Promise<UploadStanding> {
  if (id !== null) {
    try {
      const known = await place.standing(id);
      if (known.size === bytes.size) return checked(known, bytes.size);
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== "not-here") throw error; // it has expired, or is another replica's
    }
  }
  const made = await place.begin(bytes.size, name);
  begun(made.id);
  return checked(made, bytes.size);
}

async function looked(place: UploadPlace, now: UploadStanding, { wait }: Sending): Promise<UploadStanding> {
  for (let failures = 0; ; failures += 1) {
    try {
      return await place.standing(now.id);
    } catch (error) {
      if (!worthAgain(error) || failures >= MOST_FAILURES) throw error;
      await wait(pause(failures));
    }
  }
}

async function again({ wait }: Sending, failures: number, error?: unknown): Promise<number> {
  if (failures >= MOST_FAILURES)
    throw error ?? new Problem("upload-stuck", "The gateway takes no more of it.", "Use another gateway.");
  await wait(pause(failures));
  return failures + 1;
}

/** A gateway that says it has what was never sent would have the rest left out; one that goes back is sent it again. */
function checked(said: UploadStanding, size: number): UploadStanding {
  const { offset } = said;
  if (Number.isSafeInteger(offset) && offset >= 0 && offset <= size && said.size === size) return said;
  throw new Problem("gateway-confused", "The gateway says of the upload what cannot be.", "Use another gateway.");
}

function worthAgain(error: unknown): boolean {
  return error instanceof Problem && AGAIN.has(error.code);
}

function pause(failures: number): number {
  return Math.min(15_000, 500 * 2 ** failures);
}
