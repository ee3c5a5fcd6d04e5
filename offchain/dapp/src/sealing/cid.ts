/** Content addresses: the SHA-256 on the chain and the CID under which IPFS has the same bytes. Either gives the other. */
import { base32nopad } from "@scure/base";
import { bytesToHex, type Hex, hexToBytes } from "viem";

import { Problem } from "../problem";

const RAW_SHA256 = [0x01, 0x55, 0x12, 0x20] as const; // version 1, raw, sha2-256, 32 bytes

export async function sha256(data: Uint8Array): Promise<Hex> {
  return bytesToHex(new Uint8Array(await crypto.subtle.digest("SHA-256", data as BufferSource)));
}

/** The CID of the raw block whose SHA-256 is `digest`. */
export function cidOfDigest(digest: Hex): string {
  return cidText(Uint8Array.from([...RAW_SHA256, ...hexToBytes(digest)]));
}

/** The text of a CID in its binary form, as events carry it: version 1 alone. */
export function cidOfBytes(binary: Hex): string {
  return cidText(hexToBytes(binary));
}

/** A CID's one text, of version 1. */
export function cidText(binary: Uint8Array): string {
  return `b${base32nopad.encode(binary).toLowerCase()}`;
}

/** The binary form of such a text; `null` for what is none, or another text of the same bytes. */
export function cidBinary(text: string): Uint8Array | null {
  if (!/^b[a-z2-7]{1,128}$/.test(text)) return null;
  try {
    return base32nopad.decode(text.slice(1).toUpperCase());
  } catch {
    return null;
  }
}

/** Returns the bytes if they are what the digest says. Throws a Problem: whoever gave them is not believed. */
export async function verified(data: Uint8Array, digest: Hex, what: string): Promise<Uint8Array> {
  if ((await sha256(data)) !== digest.toLowerCase()) {
    throw new Problem(
      "document-swapped",
      `Another ${what} came than the chain names.`,
      "Use another gateway or IPFS node: nothing was sealed or signed.",
    );
  }
  return data;
}
