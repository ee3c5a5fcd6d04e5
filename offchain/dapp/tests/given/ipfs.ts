/** An IPFS node in memory, whose blocks are made as Kubo makes them, to be lied about by tests. */

import type { Blocks } from "../../src/data";
import { joined } from "../../src/data/tar";
import { FileCid, LEAF_BYTES, parseCid } from "../../src/data/unixfs";

const RAW = 0x55;
const DAG_PB = 0x70;

export class Store {
  private readonly held = new Map<string, Uint8Array>();

  readonly blocks: Blocks = async (_below, cids) =>
    cids.map((cid) => {
      const block = this.held.get(cid);
      if (block === undefined) throw new Error(`nobody has ${cid}`);
      return block;
    });

  /** A file of at most 1,024 leaves; its CID. */
  async file(bytes: Uint8Array): Promise<string> {
    const whole = new FileCid();
    await whole.push(bytes);
    const cid = (await whole.end()).text;
    if (bytes.length <= LEAF_BYTES) {
      this.held.set(cid, bytes);
      return cid;
    }
    const [links, sizes]: [Uint8Array[], Uint8Array[]] = [[], []];
    for (let at = 0; at < bytes.length; at += LEAF_BYTES) {
      const leaf = bytes.slice(at, at + LEAF_BYTES);
      links.push(link(await this.file(leaf), "", leaf.length));
      sizes.push(joined([varint(4 << 3), varint(leaf.length)]));
    }
    const data = joined([varint(8), varint(2), varint(3 << 3), varint(bytes.length), ...sizes]);
    this.held.set(cid, joined([...links, field(1, data)]));
    return cid;
  }

  /** A folder of what is here already; its CID. */
  async folder(entries: Readonly<Record<string, string>>): Promise<string> {
    const names = Object.keys(entries).sort();
    const links = names.map((name) => link(entries[name] ?? "", name, 1));
    const block = joined([...links, field(1, Uint8Array.from([8, 1]))]);
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", block));
    const cid = textOf(Uint8Array.from([1, DAG_PB, 0x12, 0x20, ...digest]));
    this.held.set(cid, block);
    return cid;
  }
}

function link(cid: string, name: string, weight: number): Uint8Array {
  const { raw, digest } = parseCid(cid);
  const binary = Uint8Array.from([1, raw ? RAW : DAG_PB, 0x12, 0x20, ...digest]);
  const bytes = new TextEncoder().encode(name);
  return field(2, joined([field(1, binary), field(2, bytes), varint(3 << 3), varint(weight)]));
}

function field(place: number, data: Uint8Array): Uint8Array {
  return joined([varint((place << 3) | 2), varint(data.length), data]);
}

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Uint8Array.from([...bytes, rest]);
}

function textOf(binary: Uint8Array): string {
  let [text, buffer, bits] = ["b", 0, 0];
  for (const byte of binary) {
    buffer = (buffer << 8) | byte;
    for (bits += 8; bits >= 5; bits -= 5) {
      text += "abcdefghijklmnopqrstuvwxyz234567"[(buffer >> (bits - 5)) & 31];
    }
    buffer &= (1 << bits) - 1;
  }
  return bits ? text + "abcdefghijklmnopqrstuvwxyz234567"[(buffer << (5 - bits)) & 31] : text;
}
