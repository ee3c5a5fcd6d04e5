#!/usr/bin/env node
// solc 0.8.30 compiled to JavaScript behind the native compiler's command line, for machines where the
// native binary cannot be had. Only what Brownie, py-solc-x and forge ask for: --version and --standard-json.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const solc = createRequire(`${root}/package.json`)("solc");

if (process.argv.includes("--version")) {
  const version = solc.version().replace(/\.Emscripten.*/, ".Emscripten.clang");
  process.stdout.write(`solc, the solidity compiler commandline interface\nVersion: ${version}\n`);
} else if (process.argv.includes("--standard-json")) {
  const find = (path) => {
    for (const base of [process.cwd(), root, `${root}/node_modules`]) {
      try {
        return { contents: readFileSync(resolve(base, path), "utf8") };
      } catch {
        // The next base may hold it.
      }
    }
    return { error: `File not found: ${path}` };
  };
  process.stdout.write(solc.compile(readFileSync(0, "utf8"), { import: find }));
} else {
  process.stderr.write("usage: solc --version | --standard-json < input.json\n");
  process.exit(2);
}
