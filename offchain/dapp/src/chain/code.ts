/**
 * Whether a pool runs on the contracts that this app was built with: as `scripts/verify_bytecode.py` finds it out, for the
 * browser. It starts at the pool's own code and goes wherever that leads; of each contract it compares the code less the
 * compiler's metadata and what a constructor wrote, and each of these words with the one that belongs there.
 *
 * What is asked is the node of `chain` and nobody else. Whose node that is, whoever shows the result has to say.
 */
import {
  type Address,
  concat,
  encodeAbiParameters,
  getAddress,
  type Hex,
  hexToBytes,
  isAddressEqual,
  keccak256,
  type PublicClient,
  pad,
  slice,
  stringToHex,
  toHex,
} from "viem";
import { Problem } from "../problem";
import { cloneOf } from "./pool";
import type { Pool } from "./types";

/** A contract as the compiler leaves it. `size` bytes and their `hash` with zeros in the `holes`, without metadata. */
export interface BuiltContract {
  readonly size: number;
  readonly hash: Hex;
  readonly holes: Readonly<Record<string, readonly number[]>>;
}
export type BuiltContracts = Readonly<Record<string, BuiltContract>>;

/** A contract that was looked at. `why`: in which way it is another one, or null where it is the same. */
export interface CheckedContract {
  readonly name: string;
  readonly address: Address;
  readonly why: string | null;
}

const WORD = 32;
const PARTS = 5;
const COMPANIONS = ["Committee", "Faults", "Reputation", "Directory"] as const;

/** Each contract of the pool up to the first that is another one than was built, which is the last of the list. */
export async function checkCode(
  chain: PublicClient,
  pool: Pool,
  built: BuiltContracts,
): Promise<readonly CheckedContract[]> {
  const look = new Look(chain, built);
  try {
    await walk(look, pool);
  } catch (error) {
    if (!(error instanceof Difference)) throw error;
  }
  return look.seen;
}

async function walk(look: Look, pool: Pool): Promise<void> {
  const { implementation: main, held } = await look.clone("the pool", pool.controller, PARTS);
  if (held[0] === undefined || !isAddressEqual(held[0], pool.token)) look.fail("it is paid in another token");
  look.pass();
  const own = await look.contract("Controller", main, { _self: main }, ["_accounts", "extension"]);
  const accounts = { _accounts: own._accounts as Address };
  const parts = await look.contract("ControllerExt", own.extension as Address, accounts, ["moves"]);
  await look.contract("ControllerMoves", parts.moves as Address, accounts);

  const registry = accounts._accounts;
  const made = await look.contract("Accounts", registry, writtenIntoAccounts(pool.chainId, registry), [
    "factory",
    "groupImplementation",
  ]);
  const group = made.groupImplementation as Address;
  await look.contract("GroupAccount", group, accounts);
  const factories = COMPANIONS.map((name) => `_${name.toLowerCase()}`);
  const factory = await look.contract(
    "ControllerFactory",
    made.factory as Address,
    { accounts: registry, implementation: main },
    factories,
  );
  for (const [place, name] of COMPANIONS.entries()) {
    const companion = await look.clone(`the pool's ${name}`, held[place + 1] as Address, 1);
    if (!isAddressEqual(companion.implementation, factory[`_${name.toLowerCase()}`] as Address)) {
      look.fail("it is no clone of the factory's");
    }
    if (!isAddressEqual(companion.held[0] as Address, pool.controller)) look.fail("it belongs to another pool");
    look.pass();
    await look.contract(name, companion.implementation, accounts);
  }
}

/** What the constructors of `Accounts` and of OpenZeppelin's `EIP712` leave in its code, where that is known beforehand. */
function writtenIntoAccounts(chainId: number, accounts: Address): Written {
  const [name, version] = [keccak256(toHex("Leasehold")), keccak256(toHex("1"))];
  const domain = "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)";
  const words = ["bytes32", "bytes32", "bytes32", "uint256", "address"].map((type) => ({ type }));
  return {
    _groupCodeHash: ({ groupImplementation: group }) =>
      keccak256(concat(["0x363d3d373d3d3d363d73", slice(group ?? "0x", -20), "0x5af43d82803e903d91602b57fd5bf3"])),
    _cachedThis: accounts,
    _cachedChainId: toHex(chainId, { size: WORD }),
    _cachedDomainSeparator: keccak256(
      encodeAbiParameters(words, [keccak256(toHex(domain)), name, version, BigInt(chainId), accounts]),
    ),
    _hashedName: name,
    _hashedVersion: version,
    _name: concat([stringToHex("Leasehold", { size: WORD - 1 }), toHex("Leasehold".length, { size: 1 })]),
    _version: concat([stringToHex("1", { size: WORD - 1 }), "0x01"]),
  };
}

/** What must stand in a contract, by the hole's name: an address, a word, or one that follows from the others. */
type Written = Readonly<Record<string, Hex | ((words: Readonly<Record<string, Hex>>) => Hex)>>;

/** Something is another one: it stands in the list already. */
class Difference extends Error {}

class Look {
  readonly seen: CheckedContract[] = [];
  private name = "";
  private address: Address = "0x";

  constructor(
    private readonly chain: PublicClient,
    private readonly built: BuiltContracts,
  ) {}

  pass(): void {
    this.seen.push({ name: this.name, address: this.address, why: null });
  }

  fail(why: string): never {
    this.seen.push({ name: this.name, address: this.address, why });
    throw new Difference(why);
  }

  async clone(name: string, address: Address, holds: number) {
    const code = await this.code(name, address);
    try {
      return cloneOf(code, holds, "it is no clone of this kind");
    } catch (error) {
      if (error instanceof Problem) this.fail(error.message);
      throw error;
    }
  }

  /** Compares one contract. `own` must stand in it; what `follow` names leads on, and is returned. */
  async contract(
    name: string,
    address: Address,
    own: Written,
    follow: readonly string[] = [],
  ): Promise<Readonly<Record<string, Address>>> {
    const words = this.words(name, (await this.code(name, address)) ?? "0x");
    for (const [hole, word] of Object.entries(words)) {
      if (follow.includes(hole)) {
        if (BigInt(slice(word, 0, WORD - 20)) !== 0n) this.fail(`${hole} is no address`);
        continue;
      }
      const known = own[hole];
      if (known === undefined) this.fail(`this app does not know what ${hole} is to be`);
      const expected = typeof known === "function" ? known(words) : known;
      if (pad(expected, { size: WORD }).toLowerCase() !== word.toLowerCase()) this.fail(`${hole} is ${word}`);
    }
    this.pass();
    return Object.fromEntries(
      follow.map((hole) => {
        const word = words[hole] ?? this.fail(`it names no ${hole}`);
        return [hole, getAddress(slice(word, -20))];
      }),
    );
  }

  private async code(name: string, address: Address): Promise<Hex | undefined> {
    [this.name, this.address] = [name, address];
    return await this.chain.getCode({ address });
  }

  /** The words that a constructor wrote, by their holes; fails where anything else is another. */
  private words(name: string, code: Hex): Readonly<Record<string, Hex>> {
    const built = this.built[name] ?? this.fail("this app was not built with it");
    const bytes = withoutMetadata(hexToBytes(code));
    if (bytes.length !== built.size) this.fail(`it has ${bytes.length} bytes of code, ${built.size} were built`);
    const blank = bytes.slice();
    const words: Record<string, Hex> = {};
    for (const [hole, starts] of Object.entries(built.holes)) {
      for (const start of starts) {
        const word = toHex(bytes.slice(start, start + WORD));
        if ((words[hole] ?? word) !== word) this.fail(`${hole} has two values`);
        words[hole] = word;
        blank.fill(0, start, start + WORD);
      }
    }
    if (keccak256(blank) !== built.hash) this.fail("its code is another one");
    return words;
  }
}

/** Code less the CBOR that the compiler appends, whose length its last two bytes say. */
function withoutMetadata(code: Uint8Array): Uint8Array {
  const [high, low] = code.slice(-2);
  if (high === undefined || low === undefined) return code;
  const length = high * 256 + low + 2;
  return length <= code.length ? code.slice(0, -length) : code;
}
