/** A pool with its contracts, groups of the repository's own vectors, and a chain that answers what it is told to. */
import { readFileSync } from "node:fs";
import {
  type Address,
  createPublicClient,
  custom,
  decodeFunctionData,
  encodeFunctionResult,
  type Hex,
  type PublicClient,
  parseAbi,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import type { Pool } from "../../src/chain";
import { type Group, makeGroup, type Place, placeOf, proposalOf, type SigningRequest } from "../../src/groups";

// biome-ignore lint/suspicious/noExplicitAny: the vectors are as many shapes as there are sections
type Vector = any;

export const vectors: { readonly vectors: Vector[]; readonly groups: Vector[] } = JSON.parse(
  readFileSync("../../tests/vectors/typed_data.json", "utf8"),
);

export const ACCOUNTS: Address = "0x5FbDB2315678afecb367f032d93F642f64180aa3";
const CONTROLLER: Address = "0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512";
export const STRANGER: Address = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const money = { symbol: "TUSD", decimals: 6 };
export const pool: Pool = { chainId: 31_337, controller: CONTROLLER, token: STRANGER, block: 1n, money };
const own = (digit: number): Address => `0x${String(digit).repeat(40)}`;
export const place: Place = placeOf(pool, ACCOUNTS, {
  committee: own(1),
  faults: own(2),
  reputation: own(3),
  directory: own(4),
});

export const signers = [1, 2, 3].map((digit) => privateKeyToAccount(`0x${String(digit).repeat(64)}`));
export const group: Group = makeGroup(
  ACCOUNTS,
  2,
  signers.map(({ address }) => address),
);
export const SAFE = own(8);

/** A proposal of these bytes, for the group or for another. */
export function proposed(data: Hex, of: Group = group, target: Address = CONTROLLER) {
  return proposalOf(place, of, {
    account: of.account,
    calls: [{ target, data }],
    nonce: 5n << 64n,
    deadline: 1_800_000_000n,
  });
}

/** The wallet of one of the signers. */
export function wallet(of: (typeof signers)[number]) {
  return (request: SigningRequest): Promise<Hex> => of.signTypedData(request as Parameters<typeof of.signTypedData>[0]);
}

const safeAbi = parseAbi([
  "function VERSION() view returns (string)",
  "function getOwners() view returns (address[])",
  "function getThreshold() view returns (uint256)",
]);

/** The reader's own node, which knows one Safe. */
export function chainWith(owners: readonly Address[], threshold = 2n, version = "1.4.1"): PublicClient {
  const answers = { VERSION: version, getOwners: owners, getThreshold: threshold };
  const request = async ({ params }: { params?: unknown[] }) => {
    const { data, to } = (params ?? [])[0] as { data: Hex; to: Address };
    if (to.toLowerCase() !== SAFE) return "0x";
    const { functionName } = decodeFunctionData({ abi: safeAbi, data });
    return encodeFunctionResult({ abi: safeAbi, functionName, result: answers[functionName] as never });
  };
  return createPublicClient({ transport: custom({ request }, { retryCount: 0 }) });
}
