#!/usr/bin/env node
// solc 0.8.30 compiled to JavaScript behind the native compiler's command line, for machines where the
// native binary cannot be had. Only what Brownie, py-solc-x and forge ask for: --version and --standard-json.
//
// It is asked for many files at once, and works on one core. So each core is asked for its share of the files.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism } from "node:os";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";

const MOST = 4; // each takes a gigabyte
const ENOUGH = 20; // files: fewer take less than reading all of them once more
const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const solc = createRequire(`${root}/package.json`)("solc");

function find(path) {
  for (const base of [process.cwd(), root, `${root}/node_modules`]) {
    try {
      return { contents: readFileSync(resolve(base, path), "utf8") };
    } catch {
      // The next base may hold it.
    }
  }
  return { error: `File not found: ${path}` };
}

const answer = (question) => JSON.parse(solc.compile(JSON.stringify(question), { import: find }));

function answerBeside(question) {
  return new Promise((answered, failed) => {
    new Worker(fileURLToPath(import.meta.url), { workerData: question }).on("message", answered).on("error", failed);
  });
}

// Questions that together ask for what this one asks. All sources are in each, so that one has the same number in all maps.
function split(question) {
  const asked = Object.entries(question.settings?.outputSelection ?? {});
  const count = Math.min(availableParallelism(), MOST, Math.ceil(asked.length / ENOUGH));
  if (count < 2 || "*" in question.settings.outputSelection) return [question];
  return Array.from({ length: count }, (_, share) => {
    const outputSelection = Object.fromEntries(asked.filter((_, index) => index % count === share));
    return { ...question, settings: { ...question.settings, outputSelection } };
  });
}

function join(answers) {
  if (answers.length === 1) return answers[0];
  const joined = { ...answers[0], contracts: {}, sources: {} };
  const said = new Map();
  for (const { errors = [], contracts = {}, sources = {} } of answers) {
    for (const error of errors) said.set(JSON.stringify(error), error);
    Object.assign(joined.contracts, contracts);
    for (const [file, source] of Object.entries(sources)) joined.sources[file] = { ...joined.sources[file], ...source };
  }
  if (!answers.some((each) => "contracts" in each)) delete joined.contracts; // as after an error
  return said.size === 0 ? joined : { ...joined, errors: [...said.values()] };
}

if (!isMainThread) {
  parentPort.postMessage(answer(workerData));
} else if (process.argv.includes("--version")) {
  const version = solc.version().replace(/\.Emscripten.*/, ".Emscripten.clang");
  process.stdout.write(`solc, the solidity compiler commandline interface\nVersion: ${version}\n`);
} else if (process.argv.includes("--standard-json")) {
  const [mine, ...others] = split(JSON.parse(readFileSync(0, "utf8")));
  const answers = others.map(answerBeside);
  process.stdout.write(JSON.stringify(join([answer(mine), ...(await Promise.all(answers))])));
} else {
  process.stderr.write("usage: solc --version | --standard-json < input.json\n");
  process.exit(2);
}
