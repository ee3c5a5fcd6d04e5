/** A machine's contact document: by the chain's digest, from whoever has the bytes. */
import type { Hex, PublicClient } from "viem";

import { type Pool, readContactDigest } from "../chain";
import { Problem } from "../problem";
import { cidOfDigest, verified } from "./cid";
import type { HostImage } from "./templates";

/** What a renter needs of it. `recipient`: the age key that workloads are sealed to. */
export interface Contact {
  readonly recipient: string;
  readonly images: readonly HostImage[];
}

/** Fetches a document by its CID: the gateway, or any other place, since the bytes are hashed. */
export type FetchDocument = (cid: string) => Promise<Uint8Array>;

/** The machine's contact as the chain names it. Throws a Problem where the bytes are others. */
export async function readContact(
  chain: PublicClient,
  pool: Pool,
  machine: number,
  fetchDocument: FetchDocument,
): Promise<Contact> {
  const digest: Hex = await readContactDigest(chain, pool, machine);
  const bytes = await verified(await fetchDocument(cidOfDigest(digest)), digest, "contact document");
  return parsed(bytes, machine);
}

function parsed(bytes: Uint8Array, machine: number): Contact {
  const unreadable = new Problem(
    "document-invalid",
    `Machine ${machine}'s contact document cannot be read.`,
    "Choose another machine.",
  );
  let document: unknown;
  try {
    document = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw unreadable;
  }
  const { age_recipient: recipient, images } = document as { age_recipient?: unknown; images?: unknown };
  if (typeof recipient !== "string" || !/^age1[a-z0-9]+$/.test(recipient)) throw unreadable;
  const listed = Array.isArray(images) ? (images as { id?: unknown; name?: unknown }[]) : [];
  return {
    recipient,
    images: listed.flatMap(({ id, name }) =>
      typeof id === "string" ? [{ id, name: typeof name === "string" ? name : "" }] : [],
    ),
  };
}
