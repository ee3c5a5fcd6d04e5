// A thread, a process, a server and its client. Prints "well" at the end.
const { Worker } = require("node:worker_threads");
const { execFileSync, spawn } = require("node:child_process");
const http = require("node:http");
const fs = require("node:fs/promises");
const assert = require("node:assert");

async function main() {
  const worker = new Worker("require('node:worker_threads').parentPort.postMessage(7)", { eval: true });
  assert.equal(await new Promise((done, failed) => worker.on("message", done).on("error", failed)), 7);
  assert.equal(String(execFileSync("/bin/echo", ["here"])), "here\n");
  assert.equal(await new Promise((done) => spawn("/bin/sh", ["-c", "exit 3"]).on("exit", done)), 3);
  await fs.readFile(__filename); // by a thread of the pool
  const server = http.createServer((_, answer) => answer.end("served"));
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  assert.equal(await (await fetch(`http://127.0.0.1:${server.address().port}/`)).text(), "served");
  server.close();
  console.log("well");
}
main();
