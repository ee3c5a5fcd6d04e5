/** Content addresses: the SHA-256 on the chain and the CID under which IPFS has the same bytes. Either gives the other. */
import { bytesToHex, type Hex, hexToBytes } from "viem";

import { Problem } from "../problem";

const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";
const RAW_SHA256 = [0x01, 0x55, 0x12, 0x20] as const; // version 1, raw, sha2-256, 32 bytes

export async function sha256(data: Uint8Array): Promise<Hex> {
  return bytesToHex(new Uint8Array(await crypto.subtle.digest("SHA-256", data as BufferSource)));
}

/** The CID of the raw block whose SHA-256 is `digest`. */
export function cidOfDigest(digest: Hex): string {
  return `b${base32(Uint8Array.from([...RAW_SHA256, ...hexToBytes(digest)]))}`;
}

/** The text of a CID in its binary form, as events carry it: version 1 alone. */
export function cidOfBytes(binary: Hex): string {
  return `b${base32(hexToBytes(binary))}`;
}

/** Returns the bytes if they are what the digest says. Throws a Problem: whoever gave them is not believed. */
export async function verified(data: Uint8Array, digest: Hex, what: string): Promise<Uint8Array> {
  if ((await sha256(data)) !== digest.toLowerCase()) {
    throw new Problem(
      "document-swapped",
      `The gateway gave another ${what} than the chain names.`,
      "Use another gateway: nothing was sealed or signed.",
    );
  }
  return data;
}

function base32(data: Uint8Array): string {
  let [text, buffer, bits] = ["", 0, 0];
  for (const byte of data) {
    buffer = (buffer << 8) | byte;
    for (bits += 8; bits >= 5; ) {
      bits -= 5;
      text += ALPHABET[(buffer >> bits) & 31];
      buffer &= (1 << bits) - 1;
    }
  }
  return bits ? text + ALPHABET[(buffer << (5 - bits)) & 31] : text;
}
