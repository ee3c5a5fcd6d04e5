/** Renting by the reader's own IPFS node: what a node that lies or fails can do, and that nothing is signed then. */
import { beforeEach, expect, test, vi } from "vitest";
import { chooseOwnNode, fetchFromOwnNode, leaveOnOwnNode, ownNode } from "../../src/alone";
import { cidOfDigest, sha256, verified } from "../../src/sealing";

const SEALED = new TextEncoder().encode("sealed to one machine");
const NODE = "http://127.0.0.1:5001/";

/** A node that answers so, and what it was asked. */
function nodeThat(answer: () => Response | Promise<Response>): string[] {
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (address: string, init: RequestInit) => {
    asked.push(`${init.method} ${address}`);
    return await answer();
  });
  return asked;
}

beforeEach(() => chooseOwnNode("http://127.0.0.1:5001"));

test.each([
  "http://node.example:5001",
  "javascript:alert(1)",
  "https://somebody:secret@node.example",
  "http://127.0.0.1.evil.example:5001",
  "https://node.example/?arg=",
  "",
])("%j is no node that a page may ask, and the one before stays", (address) => {
  expect(() => chooseOwnNode(address)).toThrow(expect.objectContaining({ code: "invalid-node" }));
  expect(ownNode()).toBe(NODE);
});

test("without a node nobody is asked, and the reader is told what to name", async () => {
  chooseOwnNode(null);
  const asked = nodeThat(() => new Response());
  await expect(leaveOnOwnNode(SEALED)).rejects.toMatchObject({ code: "needs-ipfs" });
  await expect(fetchFromOwnNode("bafkreia")).rejects.toMatchObject({ code: "needs-ipfs" });
  expect(asked).toEqual([]);
});

test("a workload is left as the raw block that the lease names, and pinned", async () => {
  const cid = cidOfDigest(await sha256(SEALED));
  const asked = nodeThat(() => Response.json({ Key: cid, Size: SEALED.length }));
  await leaveOnOwnNode(SEALED);
  expect(asked).toEqual([`POST ${NODE}api/v0/block/put?cid-codec=raw&mhtype=sha2-256&pin=true`]);
});

test.each([
  ["another CID", () => Response.json({ Key: "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku" })],
  ["none", () => Response.json({})],
  ["no JSON", () => new Response("<html>")],
])("a node that answers with %s has not kept it", async (_, answer) => {
  nodeThat(answer);
  await expect(leaveOnOwnNode(SEALED)).rejects.toMatchObject({ code: "workload-not-kept" });
});

test("a node that lets no page ask says what to set, and one that is gone is told apart", async () => {
  nodeThat(() => new Response("403 - Forbidden", { status: 403 }));
  await expect(leaveOnOwnNode(SEALED)).rejects.toMatchObject({
    code: "ipfs-refused",
    advice: expect.stringContaining("API.HTTPHeaders"),
  });
  nodeThat(() => Promise.reject(new TypeError("Failed to fetch")));
  await expect(fetchFromOwnNode("bafkreia")).rejects.toMatchObject({ code: "ipfs-unreachable" });
});

test("a document of another content than its CID's is refused, whatever node gave it", async () => {
  nodeThat(() => new Response("another machine's key"));
  const bytes = await fetchFromOwnNode("bafkreia");
  const digest = await sha256(SEALED);
  await expect(verified(bytes, digest, "contact document")).rejects.toMatchObject({ code: "document-swapped" });
});

test("a document without end is not read to one", async () => {
  nodeThat(() => new Response("x", { headers: { "content-length": String(1 << 30) } }));
  await expect(fetchFromOwnNode("bafkreia")).rejects.toMatchObject({ code: "document-unavailable" });
});
