/** The check of a pool's code: it finds whatever is another, wherever that is, and asks one node alone. */
import { type Address, concat, createPublicClient, custom, getAddress, type Hex, keccak256, pad, toHex } from "viem";
import { expect, test } from "vitest";
import type { Pool } from "../src/chain";
import { type BuiltContracts, checkCode } from "../src/chain/code";

const at = (number: number): Address => getAddress(toHex(number, { size: 20 }));
const PLACES = {
  ...{ pool: at(1), token: at(2), Controller: at(3), ControllerExt: at(4), ControllerMoves: at(5), Accounts: at(6) },
  ...{ GroupAccount: at(7), ControllerFactory: at(8), Committee: at(9), Faults: at(10), Reputation: at(11) },
  ...{ Directory: at(12), ownCommittee: at(13), ownFaults: at(14), ownReputation: at(15), ownDirectory: at(16) },
};
const pool: Pool = {
  ...{ chainId: 31_337, controller: PLACES.pool, token: PLACES.token, block: 1n },
  money: { symbol: "TUSD", decimals: 6 },
};
const METADATA: Hex = "0xa1640001";
const word = (address: Address): Hex => pad(address, { size: 32 });
const clone = (implementation: Address, ...held: Address[]): Hex =>
  concat(["0x363d3d373d3d3d363d73", implementation, "0x5af43d82803e903d91602b57fd5bf3", ...held]);

/** Of each contract what its constructor wrote; the code around it is the contract's own. */
const WRITTEN: Readonly<Record<string, Readonly<Record<string, Hex>>>> = {
  Controller: {
    _accounts: word(PLACES.Accounts),
    _self: word(PLACES.Controller),
    extension: word(PLACES.ControllerExt),
  },
  ControllerExt: { _accounts: word(PLACES.Accounts), moves: word(PLACES.ControllerMoves) },
  ControllerMoves: { _accounts: word(PLACES.Accounts) },
  Accounts: {
    factory: word(PLACES.ControllerFactory),
    groupImplementation: word(PLACES.GroupAccount),
    _groupCodeHash: keccak256(clone(PLACES.GroupAccount)),
  },
  GroupAccount: { _accounts: word(PLACES.Accounts) },
  ControllerFactory: {
    accounts: word(PLACES.Accounts),
    implementation: word(PLACES.Controller),
    _committee: word(PLACES.Committee),
    _faults: word(PLACES.Faults),
    _reputation: word(PLACES.Reputation),
    _directory: word(PLACES.Directory),
  },
  Committee: { _accounts: word(PLACES.Accounts) },
  Faults: { _accounts: word(PLACES.Accounts) },
  Reputation: {},
  Directory: { _accounts: word(PLACES.Accounts) },
};
const COMPANIONS = [PLACES.ownCommittee, PLACES.ownFaults, PLACES.ownReputation, PLACES.ownDirectory];

function deployed(): Record<Address, Hex> {
  const codes: Record<Address, Hex> = { [PLACES.pool]: clone(PLACES.Controller, PLACES.token, ...COMPANIONS) };
  for (const [name, words] of Object.entries(WRITTEN)) {
    const pieces = Object.values(words).flatMap((value) => [toHex(name), value]);
    codes[PLACES[name as keyof typeof PLACES]] = concat([toHex(`${name}!`), ...pieces, METADATA, "0x0004"]);
  }
  for (const [place, name] of (["Committee", "Faults", "Reputation", "Directory"] as const).entries()) {
    codes[COMPANIONS[place] as Address] = clone(PLACES[name], PLACES.pool);
  }
  return codes;
}

const built: BuiltContracts = Object.fromEntries(
  Object.entries(WRITTEN).map(([name, words]) => {
    const pieces = Object.keys(words).flatMap(() => [toHex(name), pad("0x", { size: 32 })]);
    const code = concat([toHex(`${name}!`), ...pieces]);
    const begin = name.length + 1;
    const holes = Object.keys(words).map((hole, place) => [hole, [begin + place * (name.length + 32) + name.length]]);
    return [name, { size: (code.length - 2) / 2, hash: keccak256(code), holes: Object.fromEntries(holes) }];
  }),
);

function check(codes: Record<Address, Hex>) {
  const request = async ({ method, params }: { method: string; params?: unknown[] }) => {
    if (method !== "eth_getCode") throw new Error(`${method} was not expected`);
    return codes[getAddress((params ?? [])[0] as Address)] ?? "0x";
  };
  return checkCode(createPublicClient({ transport: custom({ request }) }), pool, built);
}

test("what this app was built with is found wherever the pool's code leads", async () => {
  const seen = await check(deployed());
  expect(seen.filter(({ why }) => why !== null)).toEqual([]);
  expect(new Set(seen.map(({ address }) => address))).toEqual(new Set(Object.keys(deployed())));
});

test.each(Object.keys(deployed()) as Address[])("a bit of the code at %s is found, wherever it is", async (address) => {
  const codes = deployed();
  const code = codes[address] as Hex;
  for (let place = 2; place < code.length - 12; place += 9) {
    const digit = Number.parseInt(code[place] as string, 16) ^ 1;
    const seen = await check({
      ...codes,
      [address]: `${code.slice(0, place)}${digit.toString(16)}${code.slice(place + 1)}` as Hex,
    });
    expect(seen.at(-1)?.why, `digit ${place}`).not.toBeNull();
  }
});

test("another pool's companion is found, and so is a contract that is not there", async () => {
  const other = { ...deployed(), [PLACES.ownFaults]: clone(PLACES.Faults, PLACES.token) };
  expect((await check(other)).at(-1)).toMatchObject({ name: "the pool's Faults", why: "it belongs to another pool" });
  expect((await check({ ...deployed(), [PLACES.Accounts]: "0x" })).at(-1)?.why).toContain("0 bytes of code");
});

test("the compiler's own note at the end says nothing of what the code does", async () => {
  const codes = deployed();
  const noted = `${(codes[PLACES.Faults] as Hex).slice(0, -12)}a16400ff0004` as Hex;
  expect((await check({ ...codes, [PLACES.Faults]: noted })).every(({ why }) => why === null)).toBe(true);
});
