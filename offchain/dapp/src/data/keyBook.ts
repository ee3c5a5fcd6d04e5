/**
 * The keys of data that was sealed here, and of results: kept in this browser for one account, as the library keeps them
 * beside a wallet. They can be taken to a command line and back, in the library's own form (`keys/datasets.json`).
 *
 * Who has a key reads that dataset, and can spend nothing.
 */
import type { Address } from "viem";
import { Problem } from "../problem";

/** `upload`: the gateway's name of it while it is under way; `shelf`: where its sealed bytes lie here until they are there. */
export interface KeptDataset {
  readonly cid: string;
  readonly key: string;
  readonly name: string;
  /** Sealed bytes. */
  readonly size: number;
  /** Unix seconds. */
  readonly added: number;
  readonly state: "sealed" | "uploaded" | "imported";
  readonly upload: string | null;
  readonly shelf: string | null;
}

export interface Book {
  readonly datasets: readonly KeptDataset[];
  /** The age identity that opens this account's results. */
  readonly results: string | null;
}

export type Memory = Pick<Storage, "getItem" | "setItem">;

const EMPTY: Book = { datasets: [], results: null };
const IDENTITY = /^AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}$/;
const CID = /^(b[a-z2-7]{58}|Qm[1-9A-HJ-NP-Za-km-z]{44})$/;

export class KeyBook {
  private readonly place: string;
  private readonly memory: Memory;
  private readonly listeners = new Set<() => void>();
  private text: string | null = null;
  private book = EMPTY;

  constructor(account: Address, memory: Memory) {
    this.place = `leasehold.keys.${account}`.toLowerCase();
    this.memory = memory;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    const elsewhere = (event: StorageEvent): void => {
      if (event.key === this.place) listener();
    };
    globalThis.addEventListener?.("storage", elsewhere);
    return () => {
      this.listeners.delete(listener);
      globalThis.removeEventListener?.("storage", elsewhere);
    };
  };

  /** What is kept now. Throws a Problem where it is damaged: it is never written over. */
  readonly read = (): Book => {
    const text = this.memory.getItem(this.place);
    if (text !== this.text) {
      this.book = text === null ? EMPTY : parsed(text);
      this.text = text;
    }
    return this.book;
  };

  /** Keeps one, in place of what is there by its CID. */
  keep(dataset: KeptDataset): void {
    const others = this.read().datasets.filter(({ cid }) => cid !== dataset.cid);
    this.write({ ...this.read(), datasets: [dataset, ...others] });
  }

  /** What it opened is nobody's any more. */
  forget(cid: string): void {
    this.write({ ...this.read(), datasets: this.read().datasets.filter((kept) => kept.cid !== cid) });
  }

  keepResults(identity: string): void {
    this.write({ ...this.read(), results: identity });
  }

  keyOf(cid: string): string | null {
    return this.read().datasets.find((kept) => kept.cid === cid)?.key ?? null;
  }

  /** As the library has them under `~/.config/leasehold/keys/datasets.json`. */
  exported(): string {
    const keys = Object.fromEntries(this.read().datasets.map(({ cid, key }) => [cid, key]));
    return `${JSON.stringify(keys, Object.keys(keys).sort(), 2)}\n`;
  }

  /** Takes such a file; how many of its keys are new. Throws a Problem for any other, and then takes nothing. */
  take(text: string, now: number): number {
    const keys = imported(text);
    const fresh = keys.filter(([cid]) => this.keyOf(cid) === null);
    const kept = fresh.map(([cid, key]): KeptDataset => {
      return { cid, key, name: "", size: 0, added: now, state: "imported", upload: null, shelf: null };
    });
    this.write({ ...this.read(), datasets: [...this.read().datasets, ...kept] });
    return fresh.length;
  }

  private write(book: Book): void {
    try {
      this.memory.setItem(this.place, JSON.stringify(book));
    } catch (cause) {
      throw new Problem("keys-not-kept", "This browser does not keep the key.", "Allow the page to keep data.", {
        cause,
      });
    }
    for (const listener of this.listeners) listener();
  }
}

function imported(text: string): readonly (readonly [string, string])[] {
  let said: unknown;
  try {
    said = JSON.parse(text);
  } catch {
    said = null;
  }
  const entries = typeof said === "object" && said !== null && !Array.isArray(said) ? Object.entries(said) : null;
  if (!entries?.every(([cid, key]) => CID.test(cid) && typeof key === "string" && IDENTITY.test(key))) {
    throw new Problem(
      "no-key-file",
      "That is no file of dataset keys.",
      "Choose a `datasets.json` that was saved here, or that the library keeps.",
    );
  }
  return entries as [string, string][];
}

function parsed(text: string): Book {
  try {
    const book = JSON.parse(text) as Book;
    if (Array.isArray(book.datasets)) return { datasets: book.datasets, results: book.results ?? null };
  } catch {
    // Said below.
  }
  throw new Problem(
    "keys-damaged",
    "The keys that this browser keeps cannot be read.",
    "Save what is in its storage before you clear it: nothing else opens your data.",
  );
}

const books = new Map<Address, KeyBook>();

/** The account's, of which a page has one. */
export function keyBook(account: Address): KeyBook {
  const known = books.get(account) ?? new KeyBook(account, localStorage);
  books.set(account, known);
  return known;
}
