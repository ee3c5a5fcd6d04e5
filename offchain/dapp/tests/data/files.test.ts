import { expect, test } from "vitest";
import type { AgentClient } from "../../src/agent";
import { filesIn } from "../../src/agent";
import { checkEnd, Output } from "../../src/agent/output";

const utf8 = new TextEncoder();

function body(pieces: readonly string[], end: object | string): Uint8Array {
  const parts = pieces.flatMap((piece) => {
    const bytes = utf8.encode(piece);
    const head = new Uint8Array(4);
    new DataView(head.buffer).setUint32(0, bytes.length);
    return [...head, ...bytes];
  });
  return Uint8Array.from([...parts, 0, 0, 0, 0, ...utf8.encode(typeof end === "string" ? end : JSON.stringify(end))]);
}

test("what a command wrote is read in whatever pieces it comes, and how it ended", () => {
  const bytes = body(["one ", "two"], { exit: 0, said: "" });
  for (const size of [1, 3, 4, 5, bytes.length]) {
    const output = new Output();
    let text = "";
    for (let at = 0; at < bytes.length; at += size) {
      for (const piece of output.push(bytes.subarray(at, at + size))) text += new TextDecoder().decode(piece);
    }
    expect(text).toBe("one two");
    expect(output.end()).toEqual({ exit: 0, said: "" });
  }
});

test("a body that breaks off is no output, however much of it came", () => {
  const bytes = body(["one"], { exit: 0 });
  for (const cut of [0, 3, 5, 7, 9]) {
    const output = new Output();
    for (const _ of output.push(bytes.subarray(0, cut)));
    expect(() => output.end()).toThrow(expect.objectContaining({ code: "agent-unreachable" }));
  }
});

test("an end without end is not kept", () => {
  const output = new Output();
  const endless = (): void => {
    for (let round = 0; round < 3; round += 1) for (const _ of output.push(new Uint8Array(40_000)));
  };
  expect(endless).toThrow(expect.objectContaining({ code: "agent-unreachable" }));
});

test.each([
  [{ exit: 1, said: "cat: no such file" }, "command-failed"],
  [{ type: "not-running", detail: "It has ended." }, "not-running"],
  [{}, "agent-unreachable"],
  [null, "agent-unreachable"],
])("%j is no good end", (end, code) => {
  expect(() => checkEnd(end)).toThrow(expect.objectContaining({ code }));
});

test("a folder is listed: folders first, and names that hold anything but a slash", async () => {
  const entries = [
    "81a4 12 1700000000\nb\nc.txt",
    "41ed 4096 1700000001\nz",
    "21b6 0 5\nnull",
    "nonsense",
    "81a4 1 1\n../up",
  ];
  const agent = {
    async *output() {
      yield utf8.encode(`${entries.join("\0")}\0`);
    },
  } as unknown as AgentClient;
  expect(await filesIn(agent, 1n, "/")).toEqual([
    { name: "z", kind: "folder", size: 4096, time: 1_700_000_001 },
    { name: "b\nc.txt", kind: "file", size: 12, time: 1_700_000_000 },
    { name: "null", kind: "other", size: 0, time: 5 },
  ]);
});
