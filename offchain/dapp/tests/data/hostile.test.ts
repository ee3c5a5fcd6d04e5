import { Encrypter } from "age-encryption";
import { expect, test } from "vitest";
import {
  type Blocks,
  goOnStoring,
  KeyBook,
  memoryShelf,
  openOutput,
  type Picked,
  readResults,
  recipientOf,
  resultsIdentity,
  type Storing,
  storeDataset,
  tarOf,
  type UploadPlace,
  type UploadStanding,
} from "../../src/data";
import { streamOf } from "../../src/data/dataset";
import type { Entry } from "../../src/data/tar";
import { joined } from "../../src/data/tar";
import { FileCid } from "../../src/data/unixfs";
import { Problem } from "../../src/problem";
import { newIdentity } from "../../src/sealing";
import { Store } from "../given/ipfs";

const ACCOUNT = "0x71C7656EC7ab88b098defB751B7401B5f6d8976F";

function memory(): Storage {
  const kept = new Map<string, string>();
  return {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, text: string) => void kept.set(name, text),
  } as unknown as Storage;
}

function file(path: string, bytes: Uint8Array): Entry {
  return { path, size: bytes.length, bytes: () => [bytes] };
}

function picked(size = 5_000): Picked {
  const bytes = Uint8Array.from({ length: size }, (_, at) => at % 251);
  return { name: "digits", entries: [file("a.bin", bytes)], files: 1, size };
}

/** A gateway as it should be; what a test changes of it is what is hostile. */
class Place implements UploadPlace {
  held = new Uint8Array();
  size = 0;
  sent: number[] = [];
  begun = 0;

  readonly begin = async (size: number): Promise<UploadStanding> => {
    [this.size, this.begun, this.held] = [size, this.begun + 1, new Uint8Array()];
    return await this.standing("1");
  };
  readonly standing = async (id: string): Promise<UploadStanding> => {
    const offset = this.held.length;
    return { id, size: this.size, offset, cid: offset === this.size ? await this.cid() : null };
  };
  send = async (id: string, offset: number, piece: Blob): Promise<UploadStanding> => {
    this.sent.push(offset);
    if (offset !== this.held.length) throw new Problem("conflict", "It stands elsewhere.");
    this.held = joined([this.held, new Uint8Array(await piece.arrayBuffer())]);
    return await this.standing(id);
  };
  readonly drop = async (): Promise<void> => undefined;
  cid = async (): Promise<string> => {
    const made = new FileCid();
    await made.push(this.held);
    return (await made.end()).text;
  };
}

function hands(place: UploadPlace, book = new KeyBook(ACCOUNT, memory()), shelf = memoryShelf()) {
  const told: Storing[] = [];
  const waited: number[] = [];
  return {
    ...{ book, shelf, place, told, waited },
    now: () => 1_800_000_000,
    wait: async (milliseconds: number) => void waited.push(milliseconds),
    tell: (storing: Storing) => void told.push(storing),
  };
}

// ------------------------------------------------------------------------------------------------------ uploads

test("a dataset is sealed, sent, compared, and its key kept", async () => {
  const [place, at] = [new Place(), hands(new Place())];
  const stored = await storeDataset({ ...at, place }, picked());
  expect(stored).toMatchObject({ state: "uploaded", name: "digits", upload: null, shelf: null });
  expect(at.book.keyOf(stored.cid)).toBe(stored.key);
  expect(new TextDecoder().decode(place.held)).not.toContain("a.bin");
  expect(await at.shelf.names()).toEqual([]);
  expect(new Set(at.told.map(({ what }) => what))).toEqual(new Set(["sealing", "sending"]));
});

test("a gateway that makes something else of it is found out, and the data can go to another", async () => {
  const place = new Place();
  place.cid = async () => "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku";
  const at = hands(place);
  await expect(storeDataset(at, picked())).rejects.toMatchObject({ code: "upload-swapped" });
  const [kept] = at.book.read().datasets;
  expect(kept).toMatchObject({ state: "sealed" });
  if (kept)
    expect((await goOnStoring({ ...at, place: new Place() }, { ...kept, upload: null })).state).toBe("uploaded");
});

test("one that takes a swapped byte for the sent one is found out", async () => {
  const place = new Place();
  const { send } = place;
  place.send = async (id, offset, piece) => {
    const bytes = new Uint8Array(await piece.arrayBuffer());
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
    return await send(id, offset, new Blob([bytes]));
  };
  await expect(storeDataset(hands(place), picked())).rejects.toMatchObject({ code: "upload-swapped" });
});

test.each([
  ["more than there is", (now: UploadStanding) => ({ ...now, offset: now.size + 1 })],
  ["another size", (now: UploadStanding) => ({ ...now, size: now.size + 1 })],
  ["no number", (now: UploadStanding) => ({ ...now, offset: Number.NaN })],
  ["less than nothing", (now: UploadStanding) => ({ ...now, offset: -1 })],
])("one that says %s of it is not followed", async (_, lie) => {
  const place = new Place();
  const begin = place.begin;
  const lying: UploadPlace = {
    ...place,
    standing: place.standing,
    send: place.send,
    drop: place.drop,
    begin: async (size) => lie(await begin(size)),
  };
  await expect(storeDataset(hands(lying), picked())).rejects.toMatchObject({ code: "gateway-confused" });
});

test("one that says that all is there, and has nothing, is found out", async () => {
  const place = new Place();
  const begin = place.begin;
  const lying = {
    ...place,
    send: place.send,
    standing: async (id: string) => ({ id, size: place.size, offset: place.size, cid: await place.cid() }),
    begin: async (size: number) => ({ ...(await begin(size)), offset: size }),
  };
  await expect(storeDataset(hands(lying), picked())).rejects.toMatchObject({ code: "upload-swapped" });
});

test("one that never goes on is given up after a while", async () => {
  const place = new Place();
  place.send = async () => {
    throw new Problem("busy", "Too much at once.");
  };
  const at = hands(place);
  await expect(storeDataset(at, picked())).rejects.toMatchObject({ code: "busy" });
  expect(at.waited.length).toBeLessThan(20);
});

test("what broke off goes on from where it stands, after a reload too", async () => {
  const place = new Place();
  const { send } = place;
  let breaks = 2;
  place.send = async (id, offset, piece) => {
    const half = await piece.slice(0, 2_000).arrayBuffer();
    if (breaks > 0) {
      breaks -= 1;
      await send(id, offset, new Blob([half]));
      throw new Problem("gateway-unreachable", "It broke off.");
    }
    return await send(id, offset, piece);
  };
  const at = hands(place);
  const stored = await storeDataset(at, picked(9_000));
  expect(place.sent.slice(0, 3)).toEqual([0, 2_000, 4_000]);
  expect(stored.state).toBe("uploaded");

  const [again, other] = [new Place(), hands(new Place())];
  again.send = async () => {
    again.held = new Uint8Array(1_000);
    throw new Problem("not-signed-in", "Nobody is signed in.");
  };
  await expect(storeDataset({ ...other, place: again }, picked(9_000))).rejects.toMatchObject({
    code: "not-signed-in",
  });
  const [kept] = other.book.read().datasets;
  expect(kept).toMatchObject({ upload: "1", state: "sealed" });
});

test("a key is kept before the first byte leaves", async () => {
  const book = new KeyBook(ACCOUNT, memory());
  const place = new Place();
  const begin = place.begin;
  const seen: number[] = [];
  const watching = {
    ...place,
    standing: place.standing,
    send: place.send,
    begin: async (size: number) => {
      seen.push(book.read().datasets.length);
      return await begin(size);
    },
  };
  await storeDataset(hands(watching, book), picked());
  expect(seen).toEqual([1]);
});

// --------------------------------------------------------------------------------------------------------- keys

test("keys survive, are exported in the library's form, and are taken from it", async () => {
  const place = memory();
  const book = new KeyBook(ACCOUNT, place);
  const stored = await storeDataset(hands(new Place(), book), picked());
  const later = new KeyBook(ACCOUNT, place);
  expect(later.keyOf(stored.cid)).toBe(stored.key);
  expect(JSON.parse(later.exported())).toEqual({ [stored.cid]: stored.key });
  const elsewhere = new KeyBook(ACCOUNT, memory());
  expect(elsewhere.take(later.exported(), 1)).toBe(1);
  expect(elsewhere.take(later.exported(), 1)).toBe(0);
  expect(elsewhere.keyOf(stored.cid)).toBe(stored.key);
  later.forget(stored.cid);
  expect(new KeyBook(ACCOUNT, place).keyOf(stored.cid)).toBeNull();
});

test.each(["", "[]", '{"a": "b"}', '{"bafk": 1}', "null"])(
  "“%s” is no file of keys, and nothing of it is taken",
  (text) => {
    const book = new KeyBook(ACCOUNT, memory());
    expect(() => book.take(text, 1)).toThrow(expect.objectContaining({ code: "no-key-file" }));
    expect(book.read().datasets).toEqual([]);
  },
);

test("keys that cannot be read are never written over", () => {
  const place = memory();
  place.setItem(`leasehold.keys.${ACCOUNT}`.toLowerCase(), "{");
  const book = new KeyBook(ACCOUNT, place);
  expect(() => book.keepResults("x")).toThrow(expect.objectContaining({ code: "keys-damaged" }));
  expect(place.getItem(`leasehold.keys.${ACCOUNT}`.toLowerCase())).toBe("{");
});

test("the key of results is the same whatever v a wallet writes, and an age identity", async () => {
  const signature = `0x${"5a".repeat(64)}`;
  const identity = resultsIdentity(`${signature}1b` as `0x${string}`);
  expect(resultsIdentity(`${signature}00` as `0x${string}`)).toBe(identity);
  expect(await recipientOf(identity)).toMatch(/^age1[a-z0-9]{58}$/);
});

// ------------------------------------------------------------------------------------------------------ results

const BIG = Uint8Array.from({ length: (9 << 20) + 5 }, (_, at) => (at * 7) % 253);
const LITTLE = BIG.subarray(0, (2 << 20) + 5);

async function published(lease = "12", change: object = {}, content = LITTLE) {
  const { identity, recipient } = await newIdentity();
  const encrypter = new Encrypter();
  encrypter.addRecipient(recipient);
  const archive = tarOf([file("out/answer.txt", new TextEncoder().encode("42")), file("out/big.bin", content)]);
  const sealed = new Uint8Array(
    await new Response((await encrypter.encrypt(streamOf(archive))) as ReadableStream<BufferSource>).arrayBuffer(),
  );
  const output = { path: "/out", name: "0.age", public: false, size: content.length + 2, missing: false, skipped: 0 };
  const manifest = { version: 1, lease, outputs: [output], ...change };
  const store = new Store();
  const cid = await store.folder({
    "0.age": await store.file(sealed),
    "manifest.json": await store.file(new TextEncoder().encode(JSON.stringify(manifest))),
  });
  return { cid, identity, store };
}

test("a lease's results are listed, fetched block by block, and opened", async () => {
  const { cid, identity, store } = await published("12", {}, BIG);
  const results = await readResults(cid, "12", store.blocks);
  const [output] = results.outputs;
  if (!output) throw new Error("there is one");
  const told: number[] = [];
  const opened = await openOutput(results, output, identity, store.blocks, memoryShelf(), "a", (done) =>
    told.push(done),
  );
  expect(opened.files.map(({ path, size }) => [path, size])).toEqual([
    ["out/answer.txt", 2],
    ["out/big.bin", BIG.length],
  ]);
  const [answer, big] = opened.files;
  const bytes = (member: typeof answer) =>
    opened.archive.slice(member?.offset, (member?.offset ?? 0) + (member?.size ?? 0));
  expect(await bytes(answer).text()).toBe("42");
  expect(Buffer.compare(Buffer.from(await bytes(big).arrayBuffer()), BIG)).toBe(0); // toEqual takes a minute
  expect(told.length).toBeGreaterThan(8);
});

async function refused(blocks: Blocks, made: Awaited<ReturnType<typeof published>>, lease = "12"): Promise<unknown> {
  const shelf = memoryShelf();
  try {
    const results = await readResults(made.cid, lease, blocks);
    const [output] = results.outputs;
    if (output) await openOutput(results, output, made.identity, blocks, shelf, "a");
  } catch (error) {
    expect(await shelf.names()).toEqual([]);
    return error instanceof Problem ? error.code : error;
  }
  return null;
}

test("a gateway that swaps any block is found out, and nothing of it is kept", async () => {
  const made = await published();
  const asked: string[] = [];
  const watching: Blocks = async (below, cids) => {
    asked.push(...cids);
    return await made.store.blocks(below, cids);
  };
  expect(await refused(watching, made)).toBeNull();
  for (const swapped of new Set(asked)) {
    const hostile: Blocks = async (below, cids) => {
      const blocks = await made.store.blocks(below, cids);
      return blocks.map((block, at) => (cids[at] === swapped ? flipped(block) : block));
    };
    expect(await refused(hostile, made)).toBe("data-swapped");
  }
});

function flipped(block: Uint8Array): Uint8Array {
  const other = block.slice();
  other[0] = (other[0] ?? 0) ^ 1;
  return other;
}

test.each([
  ["too few", (blocks: Uint8Array[]) => blocks.slice(1), "data-corrupt"],
  ["too many", (blocks: Uint8Array[]) => [...blocks, new Uint8Array(1)], "data-corrupt"],
  ["none of their bytes", (blocks: Uint8Array[]) => blocks.map(() => new Uint8Array()), "data-swapped"],
])("a gateway that gives %s is found out", async (_, lie, code) => {
  const made = await published();
  expect(await refused(async (below, cids) => lie(await made.store.blocks(below, cids)), made)).toBe(code);
});

test("the honest results of another lease are not taken for this one's", async () => {
  const made = await published("13");
  expect(await refused(made.store.blocks, made)).toBe("results-invalid");
});

test.each([
  ["another version", { version: 2 }],
  [
    "a part twice",
    { outputs: [0, 1].map((at) => ({ path: `/o${at}`, name: "0.age", public: false, size: 1, skipped: 0 })) },
  ],
  ["a part that is not there", { outputs: [{ path: "/o", name: "7.age", public: false, size: 1, skipped: 0 }] }],
  ["a name that is a path", { outputs: [{ path: "/o", name: "../0.age", public: false, size: 1, skipped: 0 }] }],
  ["no list", { outputs: 5 }],
])("a host whose list has %s is refused", async (_, change) => {
  const made = await published("12", change);
  expect(await refused(made.store.blocks, made)).toBe("results-invalid");
});

test("results that are sealed to somebody else stay shut", async () => {
  const made = await published();
  const { identity } = await newIdentity();
  expect(await refused(made.store.blocks, { ...made, identity })).toBe("seal-broken");
});
