/** A lease's purse: what is signed is what was shown, as the library signs it, whatever a gateway answers. */
import { type Address, decodeFunctionData, type Hex, hashTypedData, recoverTypedDataAddress, toHex } from "viem";
import { beforeEach, expect, test, vi } from "vitest";
import { controllerAbi } from "../../src/chain/generated/abi";
import { executionRequest } from "../../src/groups";
import { accountsAbi } from "../../src/groups/generated/accounts";
import {
  askOffer,
  extensionOf,
  findPurses,
  fundingDeed,
  keepLease,
  purseGroup,
  returnOf,
  signedPurse,
  takeBack,
  wishOf,
} from "../../src/purse";
import { place, STRANGER } from "../groups/given";
import { anew, HASH, hands, key, lease, payee, purse, tenant, vector, world } from "./given";

let brought: Record<string, unknown>[];

beforeEach(() => {
  anew();
  brought = [];
  vi.stubGlobal("fetch", async (_: string, { body }: { body?: string } = {}) => {
    if (body === undefined) return Response.json({ payee, fee: "100000", before: 900, most: 64 });
    brought.push(JSON.parse(body));
    return Response.json({});
  });
});

test("it is signed as the library signs it", async () => {
  const { tenant: _, ...rest } = purse;
  const made = await signedPurse(place, { tenant: purse.tenant, ...rest }, vector.secret);
  expect(made.purse.key).toBe(vector.purse.key);
  expect(purseGroup(place, purse.tenant, purse.lease, purse.key).account).toBe(vector.account);
  const digest = (execution: ReturnType<typeof returnOf>) => hashTypedData(executionRequest(place, execution));
  for (const number of [0, 1]) {
    expect(digest(extensionOf(place, purse, number))).toBe(vector.extensions[number].digest);
    expect(digest(returnOf(place, purse, number))).toBe(vector.returns[number].digest);
    expect(made.signatures.extensions[number]).toBe(vector.extensions[number].signature);
    expect(made.signatures.returns[number]).toBe(vector.returns[number].signature);
  }
});

test("what is shown is put aside in one transaction, after the gateway has what it needs", async () => {
  const offer = await askOffer();
  if (offer === null) throw new Error("it is offered");
  const wish = wishOf(lease, offer, 3_600, 3);
  expect(wish).toMatchObject({ most: 2_000_000n, fee: 100_000n, whole: 6_300_000n });
  await keepLease(hands(), lease, wish);
  const [body] = brought as [{ key: Address; extensions: Hex[]; returns: Hex[] }];
  expect([body.extensions.length, body.returns.length]).toEqual([3, 3]);
  const { account } = purseGroup(place, tenant.address, lease.id, body.key);
  const [transaction] = world.sent as [(typeof world.sent)[0]];
  expect(world.sent.length).toBe(1);
  const { args } = decodeFunctionData({ abi: controllerAbi, data: transaction.data });
  const calls = (args as [Hex[]])[0].map((data) => decodeFunctionData({ abi: controllerAbi, data }));
  expect(calls.map((call) => [call.functionName, call.args])).toEqual([
    ["transfer", [account, 6_300_000n]],
    ["transfer", [body.key, 0n]],
  ]);
});

test("no key is left: the gateway gets signatures, and another purse has another key", async () => {
  const offer = await askOffer();
  if (offer === null) throw new Error("it is offered");
  await keepLease(hands(), lease, wishOf(lease, offer, 3_600, 1));
  await keepLease(hands(), lease, wishOf(lease, offer, 3_600, 1));
  expect(new Set(brought.map((body) => body.key)).size).toBe(2);
  expect(brought.map((body) => Object.keys(body).sort())).toEqual(
    Array(2).fill(["deadline", "extensions", "fee", "key", "most", "payee", "returns", "seconds"]),
  );
  expect([localStorage.length, sessionStorage.length]).toEqual([0, 0]);
});

test("where the gateway does not take it, no money moves", async () => {
  const offer = await askOffer();
  if (offer === null) throw new Error("it is offered");
  vi.stubGlobal("fetch", async () => Response.json({ code: "conflicting", detail: "no" }, { status: 409 }));
  await expect(keepLease(hands(), lease, wishOf(lease, offer, 3_600, 1))).rejects.toMatchObject({
    code: "conflicting",
  });
  expect(world.sent).toEqual([]);
});

test("a contract's account is told that it could not take back", async () => {
  world.code = "0x6001";
  const wish = wishOf(lease, { payee, fee: 1n, most: 64 }, 3_600, 1);
  await expect(keepLease(hands(), lease, wish)).rejects.toMatchObject({ code: "needs-a-key" });
  expect([world.sent, brought]).toEqual([[], []]);
});

test.each(["-1", "1e9", "", "9".repeat(30), 5, null])("a fee that is none (%s) is no offer", async (fee) => {
  vi.stubGlobal("fetch", async () => Response.json({ payee, fee, most: 64 }));
  await expect(askOffer()).rejects.toMatchObject({ code: "purse-refused" });
});

test("a gateway that extends none offers nothing", async () => {
  vi.stubGlobal("fetch", async () => Response.json({ code: "not-served" }, { status: 503 }));
  expect(await askOffer()).toBeNull();
});

test("what the ledger lacks is paid in by the same transaction", () => {
  const { data } = fundingDeed(place, purse, 7n, null);
  const { args } = decodeFunctionData({ abi: controllerAbi, data });
  const [first] = (args as [Hex[]])[0];
  expect(first?.slice(0, 10)).toBe("0x47e7ef24"); // deposit(address,uint256)
});

test("a purse is found by its tenant's own transfers, and no other is", async () => {
  const { account } = purseGroup(place, tenant.address, lease.id, key);
  const other = purseGroup(place, tenant.address, lease.id + 1n, key).account;
  world.ledgers[account] = 5n;
  world.ledgers[other] = 7n;
  world.transfers = [
    { to: account, amount: 5n, hash: HASH },
    { to: key, amount: 0n, hash: HASH },
    { to: STRANGER, amount: 0n, hash: toHex(8, { size: 32 }) },
    { to: other, amount: 7n, hash: HASH },
  ];
  const found = await findPurses(hands().chain, place, tenant.address, lease.id);
  expect(found.map(({ group, holds }) => [group.account, holds])).toEqual([[account, 5n]]);
});

test("a gateway that says a late block for the pool's begin hides no purse", async () => {
  const { account } = purseGroup(place, tenant.address, lease.id, key);
  world.ledgers[account] = 5n;
  world.transfers = [
    { to: account, amount: 5n, hash: HASH },
    { to: key, amount: 0n, hash: HASH },
  ];
  const late = { ...place, pool: { ...place.pool, block: 10n } };
  expect(await findPurses(hands().chain, late, tenant.address, lease.id)).toHaveLength(1);
});

test("it is taken back by the tenant's own signature, to the tenant", async () => {
  const group = purseGroup(place, tenant.address, lease.id, key);
  world.ledgers[group.account] = 5n;
  await takeBack(hands(), lease.id, { group, holds: 5n });
  const [transaction] = world.sent as [(typeof world.sent)[0]];
  const { args } = decodeFunctionData({ abi: accountsAbi, data: transaction.data });
  const [account, calls, nonce, until, proof] = args as [
    Address,
    { target: Address; data: Hex }[],
    bigint,
    bigint,
    Hex,
  ];
  expect(account).toBe(group.account);
  expect(calls.map(({ data }) => decodeFunctionData({ abi: controllerAbi, data }).args)).toEqual([
    [tenant.address, 5n],
  ]);
  const signature: Hex = `0x${proof.slice(-130)}`;
  const message = executionRequest(place, { account, calls, nonce, deadline: until });
  expect(await recoverTypedDataAddress({ ...message, signature })).toBe(tenant.address);
});
