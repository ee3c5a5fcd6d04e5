/** What a provider's wallet gets is what the page showed, and nothing where a gateway or the past was wrong. */
import { expect, test } from "vitest";
import { changesOf, claimable, net, type Terms } from "../../src/chain";
import { addStake, appeal, changeListing, claim, claimableOf, retire, setTerms, takeStake } from "../../src/providing";
import {
  FAULTS,
  fault,
  hands,
  lease,
  ME,
  machine,
  NOW,
  OTHER,
  POOL,
  rules,
  type Standing,
  standing,
  UNIT,
} from "./chain";

const terms: Terms = { ...machine().terms, price: 3n * UNIT, spotPrice: UNIT, maxDuration: 172_800 };

test("terms are sent as they were shown, under the words that were shown", async () => {
  const { hands: own, sent, said } = hands(standing());
  await setTerms(own, { machine: machine(), terms, accepts: 1 });
  expect(sent).toEqual([{ to: POOL.controller, name: "setTerms", args: [7, terms] }]);
  expect(said).toEqual([
    "New terms of machine 7, for leases from now on: price 3 TUSD per GPU-hour instead of 2 TUSD per GPU-hour; " +
      "spot price 1 TUSD per GPU-hour instead of none: no spot leases; longest lease 2d instead of 1d.",
  ]);
});

test("every field of the terms has a line of its own where it changes", () => {
  const after = { price: 1n, spotPrice: 2n, minDuration: 3, maxDuration: 4, trial: 5, availableUntilDay: 6 };
  expect(changesOf(machine().terms, after, POOL.money)).toHaveLength(Object.keys(after).length);
});

test.each([
  ["of another's machine", standing({ machines: [machine({ provider: OTHER })] }), "not-yours"],
  [
    "where the machine's terms changed meanwhile",
    standing({ machines: [machine({ revision: 4 })] }),
    "changed-meanwhile",
  ],
  ["where other rules came into force meanwhile", standing({ version: 2 }), "changed-meanwhile"],
  ["where other rules come into force before it is mined", standing({ others: NOW + 60 }), "rules-change-soon"],
  ["of a machine that has left", standing({ machines: [machine({ status: 3 })] }), "machine-retired"],
])("no terms are sent %s", async (_, at, code) => {
  const { hands: own, sent } = hands(at);
  await expect(setTerms(own, { machine: machine(), terms, accepts: 1 })).rejects.toMatchObject({ code });
  expect(sent).toEqual([]);
});

test.each([
  ["price-not-positive", { price: 0n }],
  ["invalid-spot-price", { spotPrice: 2n ** 80n }],
  ["no-such-span", { minDuration: 90_000_000, maxDuration: 90_000_000 }],
  ["trial-too-long", { trial: 901 }],
  ["leaves-too-early", { availableUntilDay: Math.floor(NOW / 86_400) - 1 }],
])("terms that the pool would refuse are refused here: %s", async (code, change) => {
  const { hands: own, sent } = hands(standing());
  const shown = { machine: machine(), terms: { ...terms, ...change }, accepts: 1 };
  await expect(setTerms(own, shown)).rejects.toMatchObject({ code });
  expect(sent).toEqual([]);
});

test("a claim reaches up to the lag behind now, not into an outage, and not into what is held", () => {
  const hour = UNIT; // half a GPU at two a GPU-hour
  expect(claimable(lease(1n), rules(), machine(), NOW)).toBe(5n * hour);
  expect(claimable(lease(1n, { settled: hour }), rules(), machine(), NOW)).toBe(4n * hour);
  expect(claimable(lease(1n), rules(), machine({ downSince: NOW - 7_200 }), NOW)).toBe(4n * hour);
  const held = { heldFrom: NOW - 14_400, heldTo: NOW - 10_800, heldUntil: NOW + 1 };
  expect(claimable(lease(1n), rules(), machine(held), NOW)).toBe(2n * hour);
  expect(claimable(lease(1n), rules(), machine({ ...held, heldUntil: NOW }), NOW)).toBe(5n * hour);
  expect(claimable(lease(1n, { start: NOW - 300 }), rules(), machine(), NOW)).toBe(0n);
  expect(net(5n * hour, 200)).toBe(4_900_000n);
});

test("leases that pay are claimed in one transaction, others' and those that pay nothing are left out", async () => {
  const at = standing({
    leases: [lease(1n), lease(2n, { machine: 8 }), lease(3n, { state: 3 }), lease(4n, { settled: 5n * UNIT })],
    machines: [machine(), machine({ id: 8, provider: OTHER })],
  });
  const { hands: own, sent, said } = hands(at);
  const due = await claimableOf(own.chain, POOL, ME, [1n, 2n, 3n, 4n]);
  expect(due.map(({ lease: { id }, settles, keeps }) => [id, settles, keeps])).toEqual([[1n, 5n * UNIT, 4_900_000n]]);
  await claim(own, due);
  expect(sent).toEqual([{ to: POOL.controller, name: "claim", args: [[1n]] }]);
  expect(said).toEqual(["Claim what one lease has brought: about 4.9 TUSD come into your ledger."]);
  at.leases = [];
  at.leases.push(lease(1n, { state: 3 }));
  await expect(claim(own, due)).rejects.toMatchObject({ code: "nothing-to-claim" });
  expect(sent).toHaveLength(1);
});

test("stake is added as was shown, out of the ledger first", async () => {
  const { hands: own, sent, said } = hands(standing({ ledger: 20n * UNIT }));
  await addStake(own, 7, 30n * UNIT);
  expect(sent).toEqual([{ to: POOL.controller, name: "addStake", args: [7, 30n * UNIT] }]);
  expect(said[0]).toContain("Add 30 TUSD to the stake of machine 7");
});

test("who has not so much is told what lacks, and asked for nothing", async () => {
  const { hands: own, sent } = hands(standing({ ledger: UNIT, wallet: UNIT }));
  await expect(addStake(own, 7, 30n * UNIT)).rejects.toMatchObject({ message: "Your wallet is 28 TUSD short." });
  expect(sent).toEqual([]);
});

test("a machine is retired by the delay that was shown, and only when it is empty", async () => {
  const at = standing();
  const { hands: own, sent } = hands(at);
  await expect(retire(own, 7, 60)).rejects.toMatchObject({ code: "changed-meanwhile" });
  at.machines = [machine({ leased: 1n })];
  await expect(retire(own, 7, 2_592_000)).rejects.toMatchObject({ code: "machine-busy" });
  at.machines = [machine()];
  await retire(own, 7, 2_592_000);
  await changeListing(own, 7, false);
  expect(sent.map(({ name, args }) => [name, args])).toEqual([
    ["retire", [7]],
    ["delist", [7]],
  ]);
});

test("a stake leaves once its delay is over and nothing is judged any more", async () => {
  const at = standing({ machines: [machine({ status: 3, retiredAt: NOW - 2_592_000 + 1 })] });
  const { hands: own, sent } = hands(at);
  await expect(takeStake(own, 7)).rejects.toMatchObject({ code: "stake-locked" });
  at.machines = [machine({ status: 3, retiredAt: NOW - 2_592_000, pendingSlashes: 1 })];
  await expect(takeStake(own, 7)).rejects.toMatchObject({ code: "slash-pending" });
  at.machines = [machine({ status: 3, retiredAt: NOW - 2_592_000 })];
  await takeStake(own, 7);
  expect(sent).toEqual([{ to: POOL.controller, name: "unstake", args: [7] }]);
});

test("an appeal goes to the judge that the pool's own code names, and its bond into the ledger first", async () => {
  const at = standing({ faults: [fault()], ledger: 2n * UNIT });
  const { hands: own, sent, said } = hands(at);
  await appeal(own, fault(), 5n * UNIT);
  expect(sent).toEqual([
    { to: POOL.controller, name: "deposit", args: [ME, 3n * UNIT] },
    { to: FAULTS, name: "appeal", args: [4n] },
  ]);
  expect(said[1]).toContain("5 TUSD of your ledger are the bond, lost where the arbiter lets the fault stand");
});

test.each([
  ["of another's machine", { machines: [machine({ provider: OTHER })] }, "not-yours"],
  ["of another fault than was shown", { faults: [fault({ amount: UNIT })] }, "changed-meanwhile"],
  ["with another bond than was shown", { rules: rules({ bond: 50n * UNIT }) }, "changed-meanwhile"],
  ["where nobody rules", { rules: rules({ arbiter: "0x0000000000000000000000000000000000000000" }) }, "nobody-rules"],
  ["after the deadline", { faults: [fault({ deadline: NOW - 1 })] }, "appeal-over"],
  ["twice", { faults: [fault({ state: 3 })] }, "wrong-fault-state"],
] satisfies [string, Partial<Standing>, string][])("no appeal is sent %s", async (_, change, code) => {
  const { hands: own, sent } = hands(standing({ faults: [fault()], ...change }));
  await expect(appeal(own, fault(), 5n * UNIT)).rejects.toMatchObject({ code });
  expect(sent).toEqual([]);
});
