/** A dataset as `leasehold dataset add` makes it: one tar, sealed with age to a key of its own, one file on IPFS. */
import { Encrypter } from "age-encryption";
import { newIdentity } from "../sealing";
import type { Shelf } from "./shelf";
import { type Entry, tarOf, tarSize } from "./tar";
import { FileCid } from "./unixfs";

/** What was sealed. `key`: the age identity that opens it, which nobody else has. */
export interface SealedDataset {
  readonly cid: string;
  readonly key: string;
  readonly bytes: Blob;
}

/**
 * Seals the entries onto the shelf, and works out the CID on the way. `progress` hears of bytes done, and of how many.
 *
 * Memory stays a few MiB, whatever the size.
 */
export async function sealDataset(
  entries: readonly Entry[],
  shelf: Shelf,
  name: string,
  progress: (done: number, all: number) => void = () => undefined,
  signal?: AbortSignal,
): Promise<SealedDataset> {
  const { identity, recipient } = await newIdentity();
  const encrypter = new Encrypter();
  encrypter.addRecipient(recipient);
  const sealed = await encrypter.encrypt(streamOf(tarOf(entries)));
  const all = sealed.size(tarSize(entries));
  const [cid, writer] = [new FileCid(), await shelf.create(name)];
  try {
    const reader = sealed.getReader();
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      signal?.throwIfAborted();
      await writer.write(piece.value);
      await cid.push(piece.value);
      progress(cid.size, all);
    }
    return { cid: (await cid.end()).text, key: identity, bytes: await writer.close() };
  } catch (error) {
    await writer.abort();
    throw error;
  }
}

/** Read only as fast as somebody takes. */
export function streamOf(chunks: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    pull: async (controller) => {
      const next = await chunks.next();
      if (next.done) controller.close();
      else controller.enqueue(next.value);
    },
    cancel: async () => void (await chunks.return(undefined)),
  });
}
