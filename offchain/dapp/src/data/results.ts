/**
 * What a lease left behind, as the library's `_results.py` reads it: the chain names the CID, every block is hashed, and
 * what was sealed is opened here. Neither gateway nor host is believed.
 */
import { Decrypter } from "age-encryption";
import { Problem } from "../problem";
import { type Blocks, Dag, type Place } from "./dag";
import { streamOf } from "./dataset";
import type { Shelf } from "./shelf";
import { type Entry, type Member, TarReader, tarOf } from "./tar";

/** One output, by its path in the container. `name`: of its part; null where it never was there. */
export interface Output {
  readonly path: string;
  readonly name: string | null;
  readonly public: boolean;
  readonly size: number;
  readonly skipped: number;
}

export interface Results {
  readonly cid: string;
  readonly outputs: readonly Output[];
  readonly parts: ReadonlyMap<string, Place>;
}

/** An output that was opened: an archive on the shelf, and where its files lie in it. */
export interface OpenedOutput {
  readonly archive: Blob;
  readonly files: readonly Member[];
}

const MANIFEST = "manifest.json";
const MOST_MANIFEST = 1 << 20;
const MOST_OUTPUTS = 64;
const MOST_DEPTH = 32;

/** The list of what is there. `lease`: as it is shown, which the list must be of. Throws a Problem. */
export async function readResults(cid: string, lease: string, blocks: Blocks, signal?: AbortSignal): Promise<Results> {
  const dag = new Dag(blocks, signal);
  const root = await dag.root(cid);
  const manifest = root.node.folder ? await dag.entry(root, MANIFEST) : null;
  if (manifest === null || manifest.node.size > MOST_MANIFEST) throw invalid("there is no list of them");
  const parts: Uint8Array[] = [];
  for await (const piece of dag.bytes(manifest)) parts.push(piece);
  const outputs = parsed(await new Blob(parts as BlobPart[]).text(), lease);
  const places = new Map<string, Place>();
  for (const { name } of outputs) {
    const place = name === null ? null : await dag.entry(root, name);
    if (name !== null && place === null) throw invalid(`${name} of their list is not there`);
    if (name !== null && place !== null) places.set(name, place);
  }
  return { cid, outputs, parts: places };
}

/** Fetches one output, opens it and lists its files; nothing is shown of one that is not whole. Throws a Problem. */
export async function openOutput(
  results: Results,
  output: Output,
  identity: string | null,
  blocks: Blocks,
  shelf: Shelf,
  name: string,
  progress: (done: number, all: number) => void = () => undefined,
  signal?: AbortSignal,
): Promise<OpenedOutput> {
  const place = output.name === null ? undefined : results.parts.get(output.name);
  if (place === undefined) throw invalid("it never was there");
  const dag = new Dag(blocks, signal);
  const chunks = output.public
    ? tarOf(await publicEntries(dag, place))
    : await unsealed(dag, place, identity, progress);
  const [reader, writer] = [new TarReader(), await shelf.create(name)];
  try {
    for await (const chunk of chunks) {
      signal?.throwIfAborted();
      reader.push(chunk);
      await writer.write(chunk);
    }
    const files = reader.end();
    return { archive: await writer.close(), files };
  } catch (error) {
    await writer.abort();
    throw error;
  }
}

async function unsealed(
  dag: Dag,
  place: Place,
  identity: string | null,
  progress: (done: number, all: number) => void,
): Promise<AsyncGenerator<Uint8Array>> {
  if (identity === null)
    throw new Problem("no-results-key", "These results are sealed, and their key is not here.", "Sign for it.");
  const decrypter = new Decrypter();
  decrypter.addIdentity(identity);
  async function* counted(): AsyncGenerator<Uint8Array> {
    let done = 0;
    for await (const piece of dag.bytes(place)) {
      done += piece.length;
      progress(done, place.node.size);
      yield piece;
    }
  }
  const failed: { error: unknown } = { error: null };
  async function* noted(): AsyncGenerator<Uint8Array> {
    try {
      yield* counted();
    } catch (error) {
      failed.error = error;
      throw error;
    }
  }
  const broken = (error: unknown): never => {
    if (failed.error instanceof Error) throw failed.error;
    throw new Problem("seal-broken", "This key does not open it, or it is damaged.", "Use the key it was sealed to.", {
      cause: error,
    });
  };
  const opened = await decrypter.decrypt(streamOf(noted())).catch(broken);
  return (async function* () {
    const reader = opened.getReader();
    for (;;) {
      const piece = await reader.read().catch(broken);
      if (piece.done) return;
      yield piece.value;
    }
  })();
}

/** The files of a public output, whose archive is made here. */
async function publicEntries(dag: Dag, place: Place, path = "", depth = 0): Promise<Entry[]> {
  if (depth > MOST_DEPTH) throw invalid("their folders are nested without end");
  if (!place.node.folder) return [{ path, size: place.node.size, bytes: () => dag.bytes(place) }];
  const entries: Entry[] = path ? [{ path, size: 0, bytes: null }] : [];
  for await (const [name, inner] of dag.entries(place)) {
    if (!name || name === "." || name === ".." || /[/\0]/.test(name)) throw invalid("a name in them is none");
    entries.push(...(await publicEntries(dag, inner, path ? `${path}/${name}` : name, depth + 1)));
  }
  return entries;
}

function parsed(text: string, lease: string): readonly Output[] {
  let said: unknown;
  try {
    said = JSON.parse(text);
  } catch {
    throw invalid("their list is no JSON");
  }
  const manifest = said as { version?: unknown; lease?: unknown; outputs?: unknown };
  if (manifest?.version !== 1 || !Array.isArray(manifest.outputs)) throw invalid("their list has faults");
  // An honest root of another lease: whoever packed them would have this one's tenant take them for his.
  if (manifest.lease !== lease) throw invalid("they are of another lease");
  if (manifest.outputs.length > MOST_OUTPUTS || !manifest.outputs.every(isOutput))
    throw invalid("their list has faults");
  const names = manifest.outputs.flatMap(({ name }) => name ?? []);
  if (names.length !== new Set(names).size) throw invalid("a part is named twice");
  return manifest.outputs;
}

function isOutput(value: unknown): value is Output {
  const output = value as Partial<Output> | null;
  return (
    typeof output?.path === "string" &&
    /^\/[^\0]{0,4096}$/.test(output.path) &&
    (output.name === null || (typeof output.name === "string" && /^[0-9]{1,4}(\.age)?$/.test(output.name))) &&
    typeof output.public === "boolean" &&
    Number.isSafeInteger(output.size)
  );
}

function invalid(why: string): Problem {
  return new Problem("results-invalid", `These are no results of this lease: ${why}.`, "Ask its provider.");
}
