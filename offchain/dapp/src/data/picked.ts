/** What somebody drops or chooses, as the entries of one folder. */
import { Problem } from "../problem";
import { type Entry, inOrder } from "./tar";

/** What was chosen. `name`: what people call it. */
export interface Picked {
  readonly name: string;
  readonly entries: readonly Entry[];
  readonly files: number;
  readonly size: number;
}

const MOST_ENTRIES = 100_000;
const MOST_DEPTH = 128;
const PIECE = 1 << 20;

/** Of an input: files by themselves, or a folder's with their paths in it. */
export function pickedFiles(files: readonly File[]): Picked {
  const paths = files.map((file) => file.webkitRelativePath || file.name);
  return picked(files.map((file, at) => entryOf(paths[at] ?? file.name, file)));
}

/** Of a drop. The browser forgets what was dropped once the event is over: call this in it. */
export async function pickedDrop(items: DataTransferItemList): Promise<Picked> {
  const roots = [...items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  const entries: Entry[] = [];
  for (const root of roots) for await (const entry of below(root, root.name, 1)) entries.push(entry);
  return picked(entries);
}

async function* below(entry: FileSystemEntry, path: string, depth: number): AsyncGenerator<Entry> {
  if (depth > MOST_DEPTH) throw refused(`“${path}” lies more than ${MOST_DEPTH} folders deep.`);
  if (entry.isFile) {
    const file = await new Promise<File>((take, fail) => (entry as FileSystemFileEntry).file(take, fail));
    yield entryOf(path, file);
    return;
  }
  yield { path, size: 0, bytes: null };
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((take, fail) => reader.readEntries(take, fail));
    if (some.length === 0) return;
    for (const inner of some) yield* below(inner, `${path}/${inner.name}`, depth + 1);
  }
}

/** One folder alone is what its entries are in; else the entries themselves. */
function picked(found: readonly Entry[]): Picked {
  if (found.length === 0) throw refused("Nothing was chosen.");
  if (found.length > MOST_ENTRIES) throw refused(`These are more than ${MOST_ENTRIES} files.`);
  const tops = new Set(found.map(({ path }) => path.split("/")[0] ?? path));
  const [top = ""] = tops;
  const folder = tops.size === 1 && found.some(({ path }) => path !== top);
  const entries = folder
    ? withFolders(
        found.flatMap((entry) => (entry.path === top ? [] : [{ ...entry, path: entry.path.slice(top.length + 1) }])),
      )
    : withFolders(found);
  const files = entries.filter(({ bytes }) => bytes !== null);
  return {
    name: tops.size === 1 ? top : `${top} and ${tops.size - 1} more`,
    entries: inOrder(entries),
    files: files.length,
    size: files.reduce((all, { size }) => all + size, 0),
  };
}

/** An input names files alone: their folders are entries too, as in every archive of the library's. */
function withFolders(entries: readonly Entry[]): Entry[] {
  const known = new Map(entries.map((entry) => [entry.path, entry]));
  for (const { path } of entries) {
    for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
      const folder = path.slice(0, end);
      if (!known.has(folder)) known.set(folder, { path: folder, size: 0, bytes: null });
    }
  }
  return [...known.values()];
}

function entryOf(path: string, file: File): Entry {
  return { path, size: file.size, bytes: () => pieces(file) };
}

/** A file in pieces: what is read of it at once stays little, however large it is. */
export async function* pieces(file: Blob): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < file.size; at += PIECE) {
    const piece = await file
      .slice(at, at + PIECE)
      .arrayBuffer()
      .catch((cause: unknown) => {
        throw new Problem("file-unreadable", "A file cannot be read any more.", "Choose it again.", { cause });
      });
    yield new Uint8Array(piece);
  }
}

function refused(problem: string): Problem {
  return new Problem("not-picked", problem, "Choose a file or a folder.");
}
