import { hexToBytes, sha256, toHex } from "viem";
import { expect, test } from "vitest";

import { credential } from "../../src/agent/authorization";
import type { SessionKey } from "../../src/agent/session";
import { bill, extensionCost, formatLease, type Pool, parseLease, quote } from "../../src/chain";
import { canonical, cidOfDigest, newIdentity, open, seal, volumeKey } from "../../src/sealing";
import { vectors } from "./vectors";

const pool = { chainId: vectors.chainId, controller: vectors.controller } as Pool;

test.each(vectors.workloads)("a workload has the library's own bytes", ({ fields, canonical: written }) => {
  expect(new TextDecoder().decode(canonical(fields))).toBe(written);
});

test("what the library sealed opens here", async () => {
  const opened = await open(hexToBytes(`0x${vectors.sealed}`), vectors.identity);
  expect(new TextDecoder().decode(opened)).toBe(vectors.workloads[2].canonical);
});

test("what is sealed here opens with the key it was sealed to, and with no other", async () => {
  const other = await newIdentity();
  const sealed = await seal(vectors.workloads[2].fields, vectors.recipient);
  expect(new TextDecoder().decode(await open(sealed, vectors.identity))).toBe(vectors.workloads[2].canonical);
  await expect(open(sealed, other.identity)).rejects.toMatchObject({ code: "seal-broken" });
});

test.each(vectors.quotes)("a quote is the library's to the unit", ({ wish, funds, quote: expected }) => {
  const { machine, params } = vectors;
  const asked = { share: wish.share, duration: wish.duration, allowUnverified: wish.allowUnverified, spot: wish.spot };
  const { maxPrice: _, ...same } = expected;
  expect(quote(machine, params, asked, funds)).toEqual(same);
});

test.each(vectors.bills)(
  "a bill is the library's to the unit",
  ({ lease, now, downSince, bill: expected, extension }) => {
    expect(bill(lease, now, vectors.params, downSince)).toEqual(expected);
    expect(extensionCost(lease, 1_801)).toBe(extension);
  },
);

test.each(vectors.leases)("lease $shown is shown and read back", ({ id, shown }) => {
  expect(formatLease(BigInt(id))).toBe(shown);
  expect(parseLease(shown)).toBe(BigInt(id));
});

test.each(["", "0", "12.", "12.70000", "twelve"])("“%s” is no lease", (text) => {
  expect(() => parseLease(text)).toThrow(expect.objectContaining({ code: "invalid-lease-id" }));
});

test.each(vectors.cids)("a digest names the library's CID", ({ digest, cid }) => {
  expect(cidOfDigest(digest)).toBe(cid);
});

test("a session proves a request with the library's own header", async () => {
  const said = vectors.authorization;
  const key: SessionKey = { session: said.session, proof: said.sessionProof, privateKey: said.sessionKey };
  const call = { ...said.call, op: "lease.logs", lease: BigInt(said.lease) } as const;
  expect(`Leasehold ${await credential(pool, said.machine, key, call, said.now, said.nonce)}`).toBe(said.header);
});

test("a volume's key is the library's", () => {
  expect(volumeKey(vectors.volume.signature)).toBe(vectors.volume.key);
  expect(sha256(toHex(vectors.volume.key))).not.toBe(vectors.volume.key);
});
