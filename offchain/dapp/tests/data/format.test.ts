import { readFileSync, writeFileSync } from "node:fs";
import { bytesToHex, hexToBytes } from "viem";
import { expect, test } from "vitest";
import { memoryShelf, sealDataset, TarReader, tarOf } from "../../src/data";
import { type Entry, inOrder, joined, tarSize } from "../../src/data/tar";
import { FileCid, parseCid, treeOf } from "../../src/data/unixfs";
import { open } from "../../src/sealing";

interface Archive {
  readonly files: Readonly<Record<string, string | null>>;
  readonly tar: string;
}

const vectors = JSON.parse(readFileSync("../../tests/vectors/datasets.json", "utf8")) as {
  readonly archives: readonly Archive[];
  readonly identity: string;
  readonly sealed: string;
  readonly cids: {
    readonly sizes: readonly { size: number; cid: string }[];
    readonly zeros: readonly { leaves: number; cid: string }[];
  };
};
const BY_BROWSER = "../../tests/vectors/dataset_by_browser.json";
const MIB = 1 << 20;

/** The entries of a vector's folder, with the folders that its files are in. */
function entriesOf(files: Archive["files"]): Entry[] {
  const entries = new Map<string, Entry>();
  for (const [path, content] of Object.entries(files)) {
    for (let end = path.indexOf("/"); end > 0; end = path.indexOf("/", end + 1)) {
      entries.set(path.slice(0, end), { path: path.slice(0, end), size: 0, bytes: null });
    }
    const bytes = new TextEncoder().encode(content ?? "");
    entries.set(path, { path, size: bytes.length, bytes: content === null ? null : () => [bytes] });
  }
  return inOrder([...entries.values()]);
}

async function whole(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return joined(parts);
}

test.each(vectors.archives)("an archive has the library's own bytes", async ({ files, tar }) => {
  const entries = entriesOf(files);
  const made = await whole(tarOf(entries));
  expect(bytesToHex(made).slice(2)).toBe(tar);
  expect(tarSize(entries)).toBe(made.length);
});

test.each(vectors.archives)("an archive of the library's is read, in whatever pieces it comes", ({ files, tar }) => {
  const bytes = hexToBytes(`0x${tar}`);
  for (const size of [1, 511, 512, 513, bytes.length]) {
    const reader = new TarReader();
    for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size));
    const read = reader.end().map(({ path, offset, size }) => {
      return [path, new TextDecoder().decode(bytes.subarray(offset, offset + size))];
    });
    expect(Object.fromEntries(read)).toEqual(
      Object.fromEntries(Object.entries(files).filter(([, content]) => content !== null)),
    );
  }
});

test("an archive that breaks off, or was changed, is none", () => {
  const bytes = hexToBytes(`0x${vectors.archives[0]?.tar ?? ""}`);
  for (const cut of [0, 100, 512, 1024]) {
    const reader = new TarReader();
    reader.push(bytes.subarray(0, cut));
    expect(() => reader.end()).toThrow(expect.objectContaining({ code: "archive-broken" }));
  }
  const changed = Uint8Array.from(bytes);
  changed[0] = 65;
  expect(() => new TarReader().push(changed)).toThrow(expect.objectContaining({ code: "archive-broken" }));
});

test("a file that grows or shrinks while it is read is not taken", async () => {
  for (const size of [3, 5]) {
    const entry: Entry = { path: "a", size, bytes: () => [new Uint8Array(4)] };
    await expect(whole(tarOf([entry]))).rejects.toMatchObject({ code: "file-changed" });
  }
});

test.each(vectors.cids.sizes)("a file of $size bytes is called as a node calls it", async ({ size, cid }) => {
  const bytes = new Uint8Array(Math.ceil(size / 4) * 4);
  const view = new DataView(bytes.buffer);
  for (let number = 0; number < bytes.length / 4; number += 1) view.setUint32(number * 4, number);
  const made = new FileCid();
  for (let at = 0; at < size; at += 300_001) await made.push(bytes.subarray(at, Math.min(size, at + 300_001)));
  expect((await made.end()).text).toBe(cid);
  expect(parseCid(cid).text).toBe(cid);
});

test.each(vectors.cids.zeros)("so is one of $leaves leaves", async ({ leaves, cid }) => {
  const one = new FileCid();
  await one.push(new Uint8Array(MIB));
  const leaf = { cid: await one.end(), size: MIB, weight: MIB };
  expect((await treeOf(Array.from({ length: leaves }, () => leaf))).text).toBe(cid);
});

test.each(["", "b", "Qm", "bafk", "z".repeat(59), `b${"a".repeat(58)}`])("“%s” is no CID that is read", (text) => {
  expect(() => parseCid(text)).toThrow(expect.objectContaining({ code: "invalid-cid" }));
});

test("a CID has one text: another of the same bytes is none", () => {
  const { cid } = vectors.cids.sizes[0] as { cid: string };
  const last = "abcdefghijklmnopqrstuvwxyz234567".indexOf(cid.at(-1) as string);
  const other = `${cid.slice(0, -1)}${"abcdefghijklmnopqrstuvwxyz234567"[last + 1]}`;
  expect(() => parseCid(other)).toThrow(expect.objectContaining({ code: "invalid-cid" }));
});

test("what the library sealed opens here", async () => {
  const opened = await open(hexToBytes(`0x${vectors.sealed}`), vectors.identity);
  expect(bytesToHex(opened).slice(2)).toBe(vectors.archives[1]?.tar);
});

test("what is sealed here has its CID and its key, and is the library's archive inside", async () => {
  const [, archive] = vectors.archives;
  const made = await sealDataset(entriesOf(archive?.files ?? {}), memoryShelf(), "a");
  const bytes = new Uint8Array(await made.bytes.arrayBuffer());
  const again = new FileCid();
  await again.push(bytes);
  expect(made.cid).toBe((await again.end()).text);
  expect(bytesToHex(await open(bytes, made.key)).slice(2)).toBe(archive?.tar);
  // The library opens what stands in the repository: LEASEHOLD_VECTORS=1 seals it anew.
  if (process.env.LEASEHOLD_VECTORS) {
    const content = { cid: made.cid, key: made.key, sealed: bytesToHex(bytes).slice(2) };
    writeFileSync(BY_BROWSER, `${JSON.stringify(content, null, 1)}\n`);
  }
  const kept = JSON.parse(readFileSync(BY_BROWSER, "utf8")) as { cid: string; key: string; sealed: string };
  expect(bytesToHex(await open(hexToBytes(`0x${kept.sealed}`), kept.key)).slice(2)).toBe(archive?.tar);
});

test("two seals of one folder share nothing that is seen", async () => {
  const entries = entriesOf({ "a.txt": "a" });
  const [one, other] = [await sealDataset(entries, memoryShelf(), "a"), await sealDataset(entries, memoryShelf(), "b")];
  expect(one.cid).not.toBe(other.cid);
  expect(one.key).not.toBe(other.key);
});
