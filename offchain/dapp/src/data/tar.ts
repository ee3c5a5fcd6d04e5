/**
 * A folder as one stream, to the byte as the library's `_tar.py` writes it: plain files and folders, no owners, no times.
 *
 * What is read here was written by strangers: a name is text to show, and never a place to write to.
 */
import { Problem } from "../problem";

/** A file or folder by its path from the root. `bytes`: a file's, taken when its turn comes. */
export interface Entry {
  readonly path: string;
  readonly size: number;
  /** Null for a folder. */
  readonly bytes: (() => AsyncIterable<Uint8Array> | Iterable<Uint8Array>) | null;
}

/** A file in an archive: where its bytes lie there. */
export interface Member {
  readonly path: string;
  readonly offset: number;
  readonly size: number;
}

const BLOCK = 512;
const MOST_EXTENDED = 64 * 1024; // bytes of an extended header, whose size a stranger chooses
const MOST_MEMBERS = 100_000;
const LARGEST = 8 ** 11; // what eleven octal digits do not hold
const [NAME, PREFIX] = [100, 155];
const utf8 = new TextEncoder();

/** The entries as a tar archive, in chunks. Throws a Problem for a file that is not as long as it was. */
export async function* tarOf(entries: Iterable<Entry>): AsyncGenerator<Uint8Array> {
  for (const entry of entries) {
    yield headerOf(entry);
    if (entry.bytes === null) continue;
    let left = entry.size;
    for await (const chunk of entry.bytes()) {
      left -= chunk.length;
      if (left < 0) break;
      yield chunk;
    }
    if (left !== 0) {
      throw new Problem(
        "file-changed",
        `“${entry.path}” changed while it was read.`,
        "Add it again when nothing writes to it.",
      );
    }
    yield new Uint8Array(padding(entry.size));
  }
  yield new Uint8Array(2 * BLOCK);
}

/** How long `tarOf` gets. */
export function tarSize(entries: Iterable<Entry>): number {
  let size = 2 * BLOCK;
  for (const entry of entries) {
    size += headerOf(entry).length + (entry.bytes === null ? 0 : entry.size + padding(entry.size));
  }
  return size;
}

/** As Python's `tarfile` orders a walk: parents before children, names by their bytes. */
export function inOrder(entries: readonly Entry[]): Entry[] {
  const keyed = entries.map((entry) => ({ entry, parts: entry.path.split("/").map((part) => utf8.encode(part)) }));
  keyed.sort((one, other) => compared(one.parts, other.parts));
  return keyed.map(({ entry }) => entry);
}

function compared(one: readonly Uint8Array[], other: readonly Uint8Array[]): number {
  for (let at = 0; at < Math.min(one.length, other.length); at += 1) {
    const [a, b] = [one[at] ?? new Uint8Array(), other[at] ?? new Uint8Array()];
    for (let place = 0; place < Math.min(a.length, b.length); place += 1) {
      const apart = (a[place] ?? 0) - (b[place] ?? 0);
      if (apart) return apart;
    }
    if (a.length !== b.length) return a.length - b.length;
  }
  return one.length - other.length;
}

function padding(size: number): number {
  return (BLOCK - (size % BLOCK)) % BLOCK;
}

// ----------------------------------------------------------------------------------------------------- headers

function headerOf(entry: Entry): Uint8Array {
  const folder = entry.bytes === null;
  const name = folder ? `${entry.path}/` : entry.path;
  let size = folder ? 0 : entry.size;
  const records: string[] = [];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what is no ASCII goes into an extended header
  if (!/^[\x00-\x7f]*$/.test(name) || name.length > NAME) records.push(record("path", name));
  if (size >= LARGEST) {
    records.push(record("size", String(size)));
    size = 0;
  }
  const plain = header(name, folder ? 0o755 : 0o644, size, folder ? "5" : "0");
  if (records.length === 0) return plain;
  const content = utf8.encode(records.join(""));
  const extended = header("././@PaxHeader", 0, content.length, "x");
  return joined([extended, content, new Uint8Array(padding(content.length)), plain]);
}

/** `length key=value\n`, whose length counts its own digits. */
function record(key: string, value: string): string {
  const rest = utf8.encode(` ${key}=${value}\n`).length;
  let length = rest;
  while (rest + String(length).length !== length) length = rest + String(length).length;
  return `${length} ${key}=${value}\n`;
}

function header(name: string, mode: number, size: number, kind: string): Uint8Array {
  const block = new Uint8Array(BLOCK);
  // As Python writes what is no ASCII where only ASCII may stand: the extended header has the name itself.
  const ascii = [...name].map((letter) => ((letter.codePointAt(0) ?? 0) > 127 ? "?" : letter)).join("");
  const fields: readonly (readonly [at: number, text: string])[] = [
    [0, ascii.slice(0, NAME)],
    [100, `${octal(mode, 7)}\0`],
    [108, `${octal(0, 7)}\0`],
    [116, `${octal(0, 7)}\0`],
    [124, `${octal(size, 11)}\0`],
    [136, `${octal(0, 11)}\0`],
    [148, "        "],
    [156, kind],
    [257, "ustar\x0000"],
  ];
  for (const [at, text] of fields) block.set(utf8.encode(text), at);
  const sum = block.reduce((all, byte) => all + byte, 0);
  block.set(utf8.encode(`${octal(sum, 6)}\0`), 148);
  return block;
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, "0");
}

export function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

// ----------------------------------------------------------------------------------------------------- reading

/** Reads an archive as it passes: `push` every chunk, then `end`, which lists its files. */
export class TarReader {
  private readonly members: Member[] = [];
  private held: Uint8Array[] = [];
  private wanted = BLOCK; // bytes that are gathered before they are looked at
  private gathered = 0;
  private skipped = 0; // bytes of content that pass unread
  private offset = 0;
  private over = false;
  private extended: "next" | "all" | "name" | null = null;
  private said: Map<string, string> = new Map();

  push(chunk: Uint8Array): void {
    let rest = chunk;
    while (rest.length && !this.over) {
      if (this.skipped) {
        const passed = Math.min(this.skipped, rest.length);
        this.skipped -= passed;
        this.offset += passed;
        rest = rest.subarray(passed);
        continue;
      }
      const taken = rest.subarray(0, this.wanted - this.gathered);
      this.held.push(taken.slice());
      this.gathered += taken.length;
      this.offset += taken.length;
      rest = rest.subarray(taken.length);
      if (this.gathered === this.wanted) this.look(joined(this.held));
    }
  }

  /** The files of the archive, in its order. Throws a Problem for one that broke off. */
  end(): readonly Member[] {
    if (!this.over) throw broken("it breaks off");
    return this.members;
  }

  private look(data: Uint8Array): void {
    [this.held, this.gathered] = [[], 0];
    if (this.extended !== null) {
      this.extend(data);
      this.wanted = BLOCK;
      return;
    }
    if (data.every((byte) => byte === 0)) {
      this.over = true;
      return;
    }
    this.member(data);
  }

  private member(block: Uint8Array): void {
    const sum = block.reduce((all, byte, at) => all + (at >= 148 && at < 156 ? 32 : byte), 0);
    if (sum !== numberIn(block, 148, 8)) throw broken("a header is damaged");
    const kind = String.fromCharCode(block[156] ?? 0);
    const size = numberIn(block, 124, 12);
    if (kind === "x" || kind === "g" || kind === "L") {
      if (size > MOST_EXTENDED || size === 0) throw broken("an extended header is too long");
      this.extended = kind === "x" ? "next" : kind === "g" ? "all" : "name";
      this.wanted = size + padding(size);
      this.said.set("length", String(size));
      return;
    }
    const prefix = textIn(block, 345, PREFIX);
    const short = textIn(block, 0, NAME);
    const path = this.said.get("path") ?? (prefix && textIn(block, 257, 6) === "ustar" ? `${prefix}/${short}` : short);
    const real = this.said.has("size") ? Number(this.said.get("size")) : size;
    if (!Number.isSafeInteger(real) || real < 0) throw broken("a size is none");
    this.said = new Map();
    const content = kind === "1" || kind === "2" || kind === "5" ? 0 : real;
    if (kind === "0" || kind === "\0" || kind === "7") {
      if (this.members.length >= MOST_MEMBERS) throw broken(`it has more than ${MOST_MEMBERS} files`);
      this.members.push({ path, offset: this.offset, size: real });
    }
    this.skipped = content + padding(content);
  }

  private extend(data: Uint8Array): void {
    const length = Number(this.said.get("length"));
    const content = data.subarray(0, length);
    this.said.delete("length");
    if (this.extended === "name") this.said.set("path", decoded(content).replace(/\0+$/, ""));
    if (this.extended === "next") for (const [key, value] of records(content)) this.said.set(key, value);
    this.extended = null;
  }
}

function* records(content: Uint8Array): Generator<readonly [string, string]> {
  for (let at = 0; at < content.length; ) {
    const space = content.indexOf(32, at);
    const length = Number(decoded(content.subarray(at, space)));
    if (space < 0 || !(length > 0) || at + length > content.length) throw broken("an extended header is damaged");
    const text = decoded(content.subarray(space + 1, at + length - 1));
    const equals = text.indexOf("=");
    if (equals > 0) yield [text.slice(0, equals), text.slice(equals + 1)];
    at += length;
  }
}

function numberIn(block: Uint8Array, at: number, length: number): number {
  const text = textIn(block, at, length).trim();
  if (!/^[0-7]{1,12}$/.test(text)) throw broken("a header has no number where one must be");
  return Number.parseInt(text, 8);
}

function textIn(block: Uint8Array, at: number, length: number): string {
  const field = block.subarray(at, at + length);
  const end = field.indexOf(0);
  return decoded(end < 0 ? field : field.subarray(0, end));
}

function decoded(data: Uint8Array): string {
  return new TextDecoder().decode(data);
}

function broken(why: string): Problem {
  return new Problem("archive-broken", `This is no whole archive: ${why}.`, "Ask whoever made it.");
}
