/** A dataset on its way: sealed here, its key kept, sent to the gateway, compared. It is gone on with where it broke off. */
import { Problem } from "../problem";
import { sealDataset } from "./dataset";
import type { KeptDataset, KeyBook } from "./keyBook";
import type { Picked } from "./picked";
import type { Shelf } from "./shelf";
import { sendUpload, type UploadPlace } from "./upload";

/** How far it is, in bytes. */
export interface Storing {
  readonly what: "sealing" | "sending";
  readonly name: string;
  readonly done: number;
  readonly all: number;
}

export interface StoringHands {
  readonly book: KeyBook;
  readonly shelf: Shelf;
  readonly place: UploadPlace;
  /** Unix seconds. */
  readonly now: () => number;
  readonly wait: (milliseconds: number) => Promise<void>;
  readonly tell: (storing: Storing) => void;
  readonly signal?: AbortSignal;
}

/** Seals and sends it. Its key is kept before the first byte leaves: what was sent can be opened whatever happens then. */
export async function storeDataset(hands: StoringHands, picked: Picked): Promise<KeptDataset> {
  const { book, shelf, tell, signal } = hands;
  const place = `sealed-${crypto.randomUUID()}`;
  const { name } = picked;
  const sealed = await sealDataset(
    picked.entries,
    shelf,
    place,
    (done, all) => tell({ what: "sealing", name, done, all }),
    signal,
  );
  const kept: KeptDataset = {
    cid: sealed.cid,
    key: sealed.key,
    name,
    size: sealed.bytes.size,
    added: hands.now(),
    state: "sealed",
    upload: null,
    shelf: place,
  };
  book.keep(kept);
  return await sent(hands, kept, sealed.bytes);
}

/** Sends on what was sealed before. Throws a Problem where this browser has lost it. */
export async function goOnStoring(hands: StoringHands, kept: KeptDataset): Promise<KeptDataset> {
  const bytes = kept.shelf === null ? null : await hands.shelf.get(kept.shelf);
  if (bytes === null || bytes.size !== kept.size) {
    throw new Problem("sealed-bytes-gone", "This browser does not have the sealed data any more.", "Add it anew.");
  }
  return await sent(hands, kept, bytes);
}

async function sent(hands: StoringHands, kept: KeptDataset, bytes: Blob): Promise<KeptDataset> {
  const { book, tell } = hands;
  let now = kept;
  await sendUpload(hands.place, {
    bytes,
    cid: kept.cid,
    name: "dataset.age", // what people call it is theirs
    id: kept.upload,
    begun: (upload) => {
      now = { ...now, upload };
      book.keep(now);
    },
    progress: (done, all) => tell({ what: "sending", name: kept.name, done, all }),
    wait: hands.wait,
    ...(hands.signal ? { signal: hands.signal } : {}),
  });
  const stored: KeptDataset = { ...now, state: "uploaded", upload: null, shelf: null };
  book.keep(stored);
  if (kept.shelf !== null) await hands.shelf.remove(kept.shelf);
  return stored;
}
