/** Renting by the reader's own IPFS node: what a node that lies or fails can do, and that nothing is signed then. */
import { beforeEach, expect, test, vi } from "vitest";
import { chooseOwnNode, fetchFromOwnNode, leaveOnOwnNode, ownNode } from "../../src/alone";
import { quote } from "../../src/chain";
import { rent } from "../../src/renting";
import { cidOfDigest, sha256, verified } from "../../src/sealing";
import { hands, machine, rules, standing } from "../providing/chain";
import { vectors } from "./vectors";

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

const WISH = { share: 8, duration: 3_600, allowUnverified: true, spot: false };
const IMAGE = `sha256:${"a".repeat(64)}`;

/** Renting by `leave`, on a chain that names this contact document; `given`: the bytes that come for it. */
async function rented(leave: (sealed: Uint8Array) => Promise<void>, given?: Uint8Array) {
  const document = new TextEncoder().encode(JSON.stringify({ age_recipient: vectors.recipient }));
  const digest = await sha256(document);
  const { hands: own, sent } = hands(standing());
  const getLogs = async () => [{ args: { digest } }];
  const chain = { ...own.chain, getLogs } as unknown as typeof own.chain;
  const shown = quote(machine(), rules(), WISH, { ledger: 0n, wallet: 10n ** 9n, allowance: 10n ** 9n });
  const all = { ...own, chain, courier: { leave }, fetchDocument: async () => given ?? document };
  const ended = await rent(all, shown, { image: IMAGE }).catch((error: unknown) => error);
  return { ended, sent };
}

test("the lease is opened on what the node keeps, after it keeps it", async () => {
  const left: Uint8Array[] = [];
  const { sent } = await rented(async (sealed) => void left.push(sealed));
  const [sealed] = left as [Uint8Array];
  expect(sent.map(({ name }) => name)).toEqual(["open"]);
  expect(sent[0]?.args[0]).toMatchObject({ machine: 7, workload: await sha256(sealed) });
});

test("where the node keeps nothing, or gives another machine's document, nothing is sent", async () => {
  nodeThat(() => Response.json({}));
  const lost = await rented(leaveOnOwnNode);
  expect(lost.ended).toMatchObject({ code: "workload-not-kept" });
  const leave = vi.fn(async () => undefined);
  const swapped = await rented(leave, SEALED);
  expect(swapped.ended).toMatchObject({ code: "document-swapped" });
  expect(leave).not.toHaveBeenCalled();
  expect([...lost.sent, ...swapped.sent]).toEqual([]);
});
