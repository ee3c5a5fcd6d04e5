import { useSyncExternalStore } from "react";
import type { Address } from "viem";
import { type Book, type KeyBook, keyBook } from "../../data";

/** The account's keys in this browser, as they change, in other tabs too. */
export function useKeyBook(account: Address): readonly [KeyBook, Book] {
  const book = keyBook(account);
  return [book, useSyncExternalStore(book.subscribe, book.read)];
}
