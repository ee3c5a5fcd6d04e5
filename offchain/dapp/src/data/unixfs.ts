/**
 * The part of IPFS's data model that is needed to believe nobody: CIDs, dag-pb nodes, UnixFS, as the library's `_unixfs.py`
 * reads it, and files as its node writes them: raw leaves of 1 MiB, 1,024 links a node, a balanced tree.
 */
import { Problem } from "../problem";
import { cidBinary, cidText } from "../sealing";
import { joined } from "./tar";

export const LEAF_BYTES = 1 << 20;
export const MOST_LINKS = 1_024;
/** Larger blocks do not travel between nodes. */
export const MAX_BLOCK = 2 << 20;

const RAW = 0x55;
const DAG_PB = 0x70;
const SHA256 = [0x12, 0x20] as const;
const [DIRECTORY, FILE] = [1, 2];

/** A CID of version 1 by SHA-256: the only kind that Leasehold's nodes make. */
export interface Cid {
  readonly text: string;
  readonly raw: boolean;
  readonly digest: Uint8Array<ArrayBuffer>;
}

export interface Link {
  readonly cid: Cid;
  readonly name: string;
}

/** A UnixFS node. `sizes`: content bytes under each link of a file; `data`: what it holds itself; `size`: of all of it. */
export interface UnixNode {
  readonly folder: boolean;
  readonly data: Uint8Array;
  readonly links: readonly Link[];
  readonly sizes: readonly number[];
  readonly size: number;
}

async function digestOf(block: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", block as BufferSource));
}

function cidOf(raw: boolean, digest: Uint8Array<ArrayBuffer>): Cid {
  const binary = Uint8Array.from([1, raw ? RAW : DAG_PB, ...SHA256, ...digest]);
  return { text: cidText(binary), raw, digest };
}

/** Reads a CID's text. Throws a Problem for any other kind. */
export function parseCid(text: string): Cid {
  return cidIn(cidBinary(text) ?? new Uint8Array());
}

function cidIn(binary: Uint8Array): Cid {
  const codec = binary[1];
  const known = binary.length === 36 && binary[0] === 1 && binary[2] === SHA256[0] && binary[3] === SHA256[1];
  if (!known || (codec !== RAW && codec !== DAG_PB)) {
    throw new Problem("invalid-cid", "That is no CID of version 1 by SHA-256.", "Write it as it was given to you.");
  }
  return cidOf(codec === RAW, binary.slice(4));
}

/** Whether the block is what the CID names. */
export async function matches(cid: Cid, block: Uint8Array): Promise<boolean> {
  const digest = await digestOf(block);
  return digest.every((byte, at) => byte === cid.digest[at]);
}

// ----------------------------------------------------------------------------------------------------- writing

interface Child {
  readonly cid: Cid;
  /** Content bytes. */
  readonly size: number;
  /** Bytes of all blocks below, its own among them. */
  readonly weight: number;
}

/** Works out a file's CID while it passes. Memory: a leaf, and 36 bytes for each MiB. */
export class FileCid {
  private buffer = new Uint8Array(LEAF_BYTES);
  private filled = 0;
  private readonly leaves: Child[] = [];
  size = 0;

  async push(chunk: Uint8Array): Promise<void> {
    for (let rest = chunk; rest.length; ) {
      const taken = rest.subarray(0, LEAF_BYTES - this.filled);
      this.buffer.set(taken, this.filled);
      this.filled += taken.length;
      this.size += taken.length;
      rest = rest.subarray(taken.length);
      if (this.filled === LEAF_BYTES) await this.leaf();
    }
  }

  async end(): Promise<Cid> {
    if (this.filled || this.leaves.length === 0) await this.leaf();
    return await treeOf(this.leaves);
  }

  private async leaf(): Promise<void> {
    const block = this.buffer.subarray(0, this.filled);
    this.leaves.push({ cid: cidOf(true, await digestOf(block)), size: this.filled, weight: this.filled });
    this.filled = 0;
  }
}

/** The root of a balanced tree over the leaves, all of which lie equally deep. */
export async function treeOf(leaves: readonly Child[]): Promise<Cid> {
  let level = leaves;
  while (level.length > 1) {
    const above: Child[] = [];
    for (let at = 0; at < level.length; at += MOST_LINKS) above.push(await nodeOf(level.slice(at, at + MOST_LINKS)));
    level = above;
  }
  const [root] = level;
  if (root === undefined) throw new Error("a file has at least one leaf");
  return root.cid;
}

async function nodeOf(children: readonly Child[]): Promise<Child> {
  const size = children.reduce((all, child) => all + child.size, 0);
  const links = children.map((child) =>
    field(2, joined([field(1, binaryOf(child.cid)), field(2, new Uint8Array()), number(3, child.weight)])),
  );
  const data = joined([number(1, FILE), number(3, size), ...children.map((child) => number(4, child.size))]);
  const block = joined([...links, field(1, data)]);
  const weight = children.reduce((all, child) => all + child.weight, block.length);
  return { cid: cidOf(false, await digestOf(block)), size, weight };
}

function binaryOf(cid: Cid): Uint8Array {
  return Uint8Array.from([1, cid.raw ? RAW : DAG_PB, ...SHA256, ...cid.digest]);
}

function field(place: number, data: Uint8Array): Uint8Array {
  return joined([varint((place << 3) | 2), varint(data.length), data]);
}

function number(place: number, value: number): Uint8Array {
  return joined([varint(place << 3), varint(value)]);
}

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value; // sizes pass 2³², where JavaScript's shifts end
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Uint8Array.from([...bytes, rest]);
}

// ----------------------------------------------------------------------------------------------------- reading

/** The node in a block that was checked against its CID before. Throws a Problem for what is none. */
export function parseNode(cid: Cid, block: Uint8Array): UnixNode {
  if (cid.raw) return { folder: false, data: block, links: [], sizes: [], size: block.length };
  let data = new Uint8Array();
  const links: Link[] = [];
  for (const [place, value] of fields(block)) {
    if (place === 1 && typeof value !== "number") data = value.slice();
    if (place === 2 && typeof value !== "number") links.push(parseLink(value));
  }
  return unixNode(data, links);
}

function unixNode(data: Uint8Array, links: readonly Link[]): UnixNode {
  let [kind, said]: [number, number | null] = [-1, null];
  let content = new Uint8Array();
  const sizes: number[] = [];
  for (const [place, value] of fields(data)) {
    if (place === 1 && typeof value === "number") kind = value;
    else if (place === 2 && typeof value !== "number") content = value.slice();
    else if (place === 3 && typeof value === "number") said = value;
    else if (place === 4 && typeof value === "number") sizes.push(value);
    else if (place === 4 && typeof value !== "number") sizes.push(...packed(value));
  }
  if (kind !== DIRECTORY && kind !== FILE) throw corrupt("it holds what is neither file nor plain folder");
  const size = sizes.reduce((all, part) => all + part, content.length);
  const fits = kind === DIRECTORY || (sizes.length === links.length && (said === null || said === size));
  if (!fits || !Number.isSafeInteger(size)) throw corrupt("a file's size is not the sum of its parts");
  return { folder: kind === DIRECTORY, data: content, links, sizes, size };
}

function parseLink(encoded: Uint8Array): Link {
  let [binary, name] = [new Uint8Array(), ""];
  for (const [place, value] of fields(encoded)) {
    if (place === 1 && typeof value !== "number") binary = value.slice();
    if (place === 2 && typeof value !== "number") name = new TextDecoder().decode(value);
  }
  return { cid: cidIn(binary), name };
}

function* fields(encoded: Uint8Array): Generator<readonly [number, number | Uint8Array]> {
  const at = { place: 0 };
  while (at.place < encoded.length) {
    const key = readVarint(encoded, at);
    if (key % 8 === 0) yield [Math.floor(key / 8), readVarint(encoded, at)];
    else if (key % 8 === 2) {
      const length = readVarint(encoded, at);
      if (at.place + length > encoded.length) throw corrupt("a field is longer than its block");
      yield [Math.floor(key / 8), encoded.subarray(at.place, at.place + length)];
      at.place += length;
    } else if (key % 8 === 5 && at.place + 4 <= encoded.length) at.place += 4;
    else throw corrupt("a field has an unknown form");
  }
}

function packed(encoded: Uint8Array): number[] {
  const [numbers, at] = [[] as number[], { place: 0 }];
  while (at.place < encoded.length) numbers.push(readVarint(encoded, at));
  return numbers;
}

function readVarint(encoded: Uint8Array, at: { place: number }): number {
  let [value, scale] = [0, 1];
  for (;;) {
    const byte = encoded[at.place];
    if (byte === undefined || scale > 2 ** 56) throw corrupt("a number does not end");
    at.place += 1;
    value += (byte & 127) * scale;
    if (byte < 128) break;
    scale *= 128;
  }
  if (!Number.isSafeInteger(value)) throw corrupt("a number is too large");
  return value;
}

export function corrupt(why: string): Problem {
  return new Problem("data-corrupt", `What came is not what its CID names: ${why}.`, "Fetch it by another gateway.");
}
