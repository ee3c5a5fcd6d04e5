import type { Rollup } from "vite";
import { expect, test } from "vitest";
import { filesOfFirstLoad } from "../firstLoad";

const chunk = (fileName: string, more: object): Rollup.OutputChunk =>
  ({
    type: "chunk",
    fileName,
    imports: [],
    isEntry: false,
    facadeModuleId: null,
    ...more,
  }) as unknown as Rollup.OutputChunk;

test("a first load is the entry, the page and what they import, and nothing that is loaded later", () => {
  const chunks = [
    chunk("index.js", { isEntry: true, imports: ["react.js"], viteMetadata: { importedCss: new Set(["index.css"]) } }),
    chunk("react.js", {}),
    chunk("Market.js", { facadeModuleId: "/app/src/pages/Market.tsx", imports: ["words.js", "index.js"] }),
    chunk("words.js", { imports: ["react.js"] }),
    chunk("terminal.js", { facadeModuleId: "/app/src/pages/Lease.tsx" }),
  ];
  const bundle = Object.fromEntries(chunks.map((made) => [made.fileName, made]));
  const files = ["index.html", "index.js", "react.js", "index.css", "Market.js", "words.js"];
  expect([...filesOfFirstLoad(bundle, "src/pages/Market.tsx")].sort()).toEqual(files.sort());
  expect(() => filesOfFirstLoad(bundle, "src/pages/Gone.tsx")).toThrow("No chunk is made of");
});
