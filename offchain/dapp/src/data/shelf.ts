/**
 * Where what is too large for memory lies meanwhile: files that this browser keeps for this page's origin alone.
 *
 * Nobody else's page can read them, and they survive a reload, so that an upload goes on where it broke off.
 */
import { Problem } from "../problem";

export interface ShelfWriter {
  readonly write: (data: Uint8Array) => Promise<void>;
  /** What was written, whole. */
  readonly close: () => Promise<Blob>;
  /** Leaves nothing. */
  readonly abort: () => Promise<void>;
}

export interface Shelf {
  readonly create: (name: string) => Promise<ShelfWriter>;
  /** What was put there under that name, or null. */
  readonly get: (name: string) => Promise<Blob | null>;
  readonly remove: (name: string) => Promise<void>;
  readonly names: () => Promise<readonly string[]>;
}

const FOLDER = "leasehold";

/** The browser's own. Throws a Problem where it has none, or no room. */
export const shelf: Shelf = {
  create: async (name) => {
    const folder = await opened();
    const file = await folder.getFileHandle(name, { create: true });
    const stream = await file.createWritable().catch(refused);
    return {
      write: async (data) => await stream.write(data as BufferSource).catch(refused),
      close: async () => {
        await stream.close().catch(refused);
        return await file.getFile();
      },
      abort: async () => {
        await stream.abort().catch(() => undefined);
        await folder.removeEntry(name).catch(() => undefined);
      },
    };
  },
  get: async (name) => {
    const file = await (await opened()).getFileHandle(name).catch(() => null);
    return file === null ? null : await file.getFile();
  },
  remove: async (name) => await (await opened()).removeEntry(name).catch(() => undefined),
  names: async () => {
    const names: string[] = [];
    for await (const name of (await opened()).keys()) names.push(name);
    return names;
  },
};

async function opened(): Promise<FileSystemDirectoryHandle> {
  const root = await navigator.storage?.getDirectory?.().catch(() => null);
  if (!root) {
    throw new Problem(
      "no-storage",
      "This browser gives the page no room for files.",
      "Open the page by https, not in a private window; or use `leasehold dataset add`.",
    );
  }
  return await root.getDirectoryHandle(FOLDER, { create: true });
}

function refused(error: unknown): never {
  if (error instanceof DOMException && error.name === "QuotaExceededError") {
    throw new Problem(
      "no-room-here",
      "This browser has no room for it.",
      "Make room on this device, or use the command line.",
      {
        cause: error,
      },
    );
  }
  throw error;
}

/** One in memory: what has no browser under it. */
export function memoryShelf(): Shelf {
  const kept = new Map<string, Blob>();
  return {
    create: async (name) => {
      const parts: BlobPart[] = [];
      return {
        write: async (data) => void parts.push(data.slice() as BlobPart),
        close: async () => {
          const blob = new Blob(parts);
          kept.set(name, blob);
          return blob;
        },
        abort: async () => void kept.delete(name),
      };
    },
    get: async (name) => kept.get(name) ?? null,
    remove: async (name) => void kept.delete(name),
    names: async () => [...kept.keys()],
  };
}
