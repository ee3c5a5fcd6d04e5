import { expect, test } from "vitest";
import { pickedDrop, pickedFiles } from "../../src/data";

function file(path: string, content = "x"): File {
  const made = new File([content], path.split("/").at(-1) ?? path);
  Object.defineProperty(made, "webkitRelativePath", { value: path.includes("/") ? path : "" });
  return made;
}

/** What a browser gives of a dropped folder: its entries in several answers, the last of which is empty. */
function dropped(name: string, children?: readonly FileSystemEntry[]): FileSystemEntry {
  if (!children) return { name, isFile: true, file: (take: (file: File) => void) => take(file(name)) } as never;
  const answers = [...children.map((child) => [child]), []];
  const reader = { readEntries: (take: (some: FileSystemEntry[]) => void) => take(answers.shift() ?? []) };
  return { name, isFile: false, createReader: () => reader } as never;
}

function items(...entries: readonly FileSystemEntry[]): DataTransferItemList {
  return entries.map((entry) => ({ webkitGetAsEntry: () => entry })) as unknown as DataTransferItemList;
}

const paths = ({ entries }: { entries: readonly { path: string; bytes: unknown }[] }) =>
  entries.map(({ path, bytes }) => (bytes === null ? `${path}/` : path));

test("files are entries by their names, and the whole is called by the first", () => {
  const picked = pickedFiles([file("b.txt", "bb"), file("a.txt")]);
  expect(paths(picked)).toEqual(["a.txt", "b.txt"]);
  expect(picked).toMatchObject({ name: "b.txt and 1 more", files: 2, size: 3 });
});

test("a folder is what lies in it, with its folders before what they hold", () => {
  const picked = pickedFiles([file("digits/deep/er/one.bin"), file("digits/two.bin")]);
  expect(paths(picked)).toEqual(["deep/", "deep/er/", "deep/er/one.bin", "two.bin"]);
  expect(picked).toMatchObject({ name: "digits", files: 2 });
});

test("a dropped folder is read to its end, empty folders too", async () => {
  const folder = dropped("digits", [dropped("z.bin"), dropped("empty", []), dropped("a", [dropped("b.bin")])]);
  expect(paths(await pickedDrop(items(folder)))).toEqual(["a/", "a/b.bin", "empty/", "z.bin"]);
});

test("a file and a folder together keep their names", async () => {
  const picked = await pickedDrop(items(dropped("one.txt"), dropped("digits", [dropped("two.bin")])));
  expect(paths(picked)).toEqual(["digits/", "digits/two.bin", "one.txt"]);
});

test("folders without end are not followed, and nothing is no choice", async () => {
  let deep = dropped("x");
  for (let level = 0; level < 130; level += 1) deep = dropped("d", [deep]);
  await expect(pickedDrop(items(deep))).rejects.toMatchObject({ code: "not-picked" });
  expect(() => pickedFiles([])).toThrow(expect.objectContaining({ code: "not-picked" }));
});
