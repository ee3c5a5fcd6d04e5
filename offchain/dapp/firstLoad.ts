import { gzipSync } from "node:zlib";
import type { Plugin, Rollup } from "vite";

interface Budget {
  /** The page that a first visit shows, as a path from the root. */
  page: string;
  /** Bytes after gzip that a first visit may load. */
  most: number;
}

/** Files that a visit loads which begins with `page`: the entry's and the page's chunks, what these import, and styles. */
export function filesOfFirstLoad(bundle: Rollup.OutputBundle, page: string): Set<string> {
  const files = new Set<string>(["index.html"]);
  const follow = (name: string): void => {
    const chunk = bundle[name];
    if (files.has(name) || chunk?.type !== "chunk") return;
    files.add(name);
    for (const style of chunk.viteMetadata?.importedCss ?? []) files.add(style);
    chunk.imports.forEach(follow);
  };
  const chunks = Object.values(bundle).filter((output) => output.type === "chunk");
  const shown = chunks.find((chunk) => chunk.facadeModuleId?.endsWith(page));
  if (shown === undefined) throw new Error(`No chunk is made of ${page}.`);
  for (const chunk of chunks) if (chunk.isEntry || chunk === shown) follow(chunk.fileName);
  return files;
}

/** Fails the build when a first visit would load more than the budget. */
export function firstLoad({ page, most }: Budget): Plugin {
  return {
    name: "first-load",
    apply: "build",
    enforce: "post",
    writeBundle(_options, bundle) {
      let bytes = 0;
      for (const name of filesOfFirstLoad(bundle, page)) {
        const output = bundle[name];
        if (output !== undefined) bytes += gzipSync(output.type === "chunk" ? output.code : output.source).length;
      }
      this.info(`first load: ${(bytes / 1000).toFixed(1)} kB of ${most / 1000} after gzip`);
      if (bytes > most) this.error(`A first visit loads ${bytes} bytes after gzip; ${most} are allowed.`);
    },
  };
}
