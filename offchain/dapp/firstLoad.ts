import { gzipSync } from "node:zlib";
import type { Plugin, Rollup } from "vite";

interface Budget {
  /** The page that a first visit shows, as a path from the root. */
  page: string;
  /** Bytes after gzip that a first visit may load. */
  most: number;
}

/** Files that a visit loads before anything is asked for: the entry's chunk, what it imports, and styles.
 *
 * Throws where `page` is not among them: it would come by a second way to the server and back, once the first has come. */
export function filesOfFirstLoad(bundle: Rollup.OutputBundle, page: string): Set<string> {
  const files = new Set<string>(["index.html"]);
  let shown = false;
  const follow = (name: string): void => {
    const chunk = bundle[name];
    if (files.has(name) || chunk?.type !== "chunk") return;
    files.add(name);
    shown ||= Object.keys(chunk.modules).some((module) => module.endsWith(page));
    for (const style of chunk.viteMetadata?.importedCss ?? []) files.add(style);
    chunk.imports.forEach(follow);
  };
  for (const output of Object.values(bundle)) if (output.type === "chunk" && output.isEntry) follow(output.fileName);
  if (!shown) throw new Error(`The first files do not hold ${page}: import it where routes are, and not lazily.`);
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
