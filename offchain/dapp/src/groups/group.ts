/**
 * Several signers who are one account: a group, whose address is made of them, or a Safe, whose owners the chain knows.
 *
 * A group's address is worked out here from who signs and how many must: whoever names other signers names another account.
 */
import {
  type Address,
  BaseError,
  ContractFunctionExecutionError,
  concat,
  getAddress,
  getContractAddress,
  type Hex,
  isAddress,
  keccak256,
  numberToHex,
  type PublicClient,
  parseAbi,
  size,
  zeroAddress,
  zeroHash,
} from "viem";
import { Problem } from "../problem";

/** `signers` ascending; a Safe's are its owners. `salt` tells groups of the same signers apart. */
export interface Group {
  readonly account: Address;
  readonly threshold: number;
  readonly signers: readonly Address[];
  readonly salt: Hex;
  readonly safe: boolean;
}

export const MAX_SIGNERS = 16;
const CLONE_HEAD = "0x3d602d80600a3d3981f3363d3d373d3d3d363d73";
const CLONE_TAIL = "0x5af43d82803e903d91602b57fd5bf3";

/** The group of these signers under `accounts`, in whatever order they are named. Throws a Problem where none can be. */
export function makeGroup(accounts: Address, threshold: number, named: readonly string[], salt: Hex = zeroHash): Group {
  const signers = named.map((signer) => signerOf(signer));
  signers.sort((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1));
  const twice = signers.find((signer, place) => signers[place + 1] === signer);
  if (twice) throw refused(`${twice} is named twice.`, "Each signer counts once: name each once.");
  if (signers.length < 1 || signers.length > MAX_SIGNERS) {
    throw refused(`A group has 1 to ${MAX_SIGNERS} signers.`, "Name as many.");
  }
  if (!Number.isInteger(threshold) || threshold < 1 || threshold > signers.length) {
    throw refused(`${threshold} of ${signers.length} cannot sign.`, `Choose 1 to ${signers.length}.`);
  }
  if (size(salt) !== 32) throw refused("The group's salt has not 32 bytes.", "Ask for the link again.");
  const group = { threshold, signers, salt, safe: false };
  return { ...group, account: addressOf(accounts, group) };
}

/** What identifies a group, as it stands in its proofs behind their kind. */
export function encodeGroup({ threshold, signers, salt }: Pick<Group, "threshold" | "signers" | "salt">): Hex {
  const counts = [numberToHex(threshold, { size: 1 }), numberToHex(signers.length, { size: 1 })];
  return concat([...counts, ...signers.map((signer) => signer.toLowerCase() as Hex), salt]);
}

/** Where CREATE2 puts the clone: of the first contract that `Accounts` made. */
function addressOf(accounts: Address, group: Pick<Group, "threshold" | "signers" | "salt">): Address {
  const implementation = getContractAddress({ from: accounts, nonce: 1n });
  const bytecode = concat([CLONE_HEAD, implementation, CLONE_TAIL]);
  return getContractAddress({ opcode: "CREATE2", from: accounts, salt: keccak256(encodeGroup(group)), bytecode });
}

function signerOf(text: string): Address {
  const written = text.trim();
  if (!isAddress(written, { strict: false })) throw refused(`“${written}” is no address.`, "Write it whole, with 0x.");
  if (!isAddress(written)) throw refused(`${written} has a wrong checksum.`, "Copy it again: a digit may be another.");
  if (written === zeroAddress) throw refused("Nobody has the address zero.", "Name another signer.");
  return getAddress(written);
}

const safeAbi = parseAbi([
  "function VERSION() view returns (string)",
  "function getOwners() view returns (address[])",
  "function getThreshold() view returns (uint256)",
]);
const OLDEST = [1, 3] as const; // whose domain names the chain; one before signs what counts on every chain

/** The Safe at an address, as the chain has it now. Throws a Problem where there is none that can act here. */
export async function readSafe(chain: PublicClient, address: Address): Promise<Group> {
  const ask = <Name extends "VERSION" | "getOwners" | "getThreshold">(functionName: Name) =>
    chain.readContract({ address, abi: safeAbi, functionName });
  const bad = (why: string) => new Problem("not-a-safe", `${address} is no Safe that can act here: ${why}.`);
  let answers: readonly [unknown, unknown, unknown];
  try {
    answers = await Promise.all([ask("VERSION"), ask("getOwners"), ask("getThreshold")]);
  } catch (error) {
    if (error instanceof ContractFunctionExecutionError || error instanceof BaseError)
      throw bad("it does not answer as one");
    throw error;
  }
  const [version, owners, threshold] = answers as readonly [string, readonly Address[], bigint];
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (!(major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]))) throw bad("it is older than 1.3");
  if (owners.length > MAX_SIGNERS) throw bad(`it has ${owners.length} owners, and ${MAX_SIGNERS} are served`);
  const signers = owners.map((owner) => getAddress(owner));
  signers.sort((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1));
  return { account: getAddress(address), threshold: Number(threshold), signers, salt: zeroHash, safe: true };
}

function refused(problem: string, advice: string): Problem {
  return new Problem("no-such-group", problem, advice);
}
