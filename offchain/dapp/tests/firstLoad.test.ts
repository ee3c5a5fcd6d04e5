import type { Rollup } from "vite";
import { expect, test } from "vitest";
import { filesOfFirstLoad } from "../firstLoad";

const chunk = (fileName: string, more: object): Rollup.OutputChunk =>
  ({
    type: "chunk",
    fileName,
    imports: [],
    isEntry: false,
    modules: {},
    ...more,
  }) as unknown as Rollup.OutputChunk;

test("a first load is the entry and what it imports, and nothing that is loaded later", () => {
  const chunks = [
    chunk("index.js", { isEntry: true, imports: ["react.js"], viteMetadata: { importedCss: new Set(["index.css"]) } }),
    chunk("react.js", { modules: { "/app/src/pages/Market.tsx": {} }, imports: ["index.js"] }),
    chunk("terminal.js", { modules: { "/app/src/pages/Lease.tsx": {} }, imports: ["react.js"] }),
  ];
  const bundle = Object.fromEntries(chunks.map((made) => [made.fileName, made]));
  const files = ["index.html", "index.js", "react.js", "index.css"];
  expect([...filesOfFirstLoad(bundle, "src/pages/Market.tsx")].sort()).toEqual(files.sort());
  expect(() => filesOfFirstLoad(bundle, "src/pages/Lease.tsx")).toThrow("do not hold src/pages/Lease.tsx");
});
