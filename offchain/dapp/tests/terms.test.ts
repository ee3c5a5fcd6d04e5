import { expect, test } from "vitest";
import { columnOf, hasTerm, termsOf, toggleTerm } from "../src/search/terms";

test("blanks separate terms, but not within quotes", () => {
  expect(termsOf('gpu:"RTX 4090"  mem>=24')).toEqual(['gpu:"RTX 4090"', "mem>=24"]);
  expect(termsOf('gpu:"a \\" b" c')).toEqual(['gpu:"a \\" b"', "c"]);
  expect(termsOf('gpu:"never closed and more')).toEqual(['gpu:"never closed and more']);
  expect(termsOf("   ")).toEqual([]);
});

test("a term is put at the end, and taken out wherever it stands", () => {
  expect(toggleTerm("gpu:H100", "state:free")).toBe("gpu:H100 state:free");
  expect(toggleTerm("STATE:free gpu:H100", "state:free")).toBe("gpu:H100");
  expect(hasTerm("gpu:H100 state:freer", "state:free")).toBe(false);
});

test("an error's column is read from its sentence", () => {
  expect(columnOf("Column 12 of the search: unknown field 'gpuu'; did you mean 'gpu'?")).toBe(12);
  expect(columnOf("Machines cannot be sorted by 'x'")).toBeUndefined();
});
