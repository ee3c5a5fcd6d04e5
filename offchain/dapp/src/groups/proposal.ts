/**
 * What a group is asked to sign, and the signatures that came back: a stranger's words until they are checked here.
 *
 * The domain comes from the pool that the chain confirmed, the group's address and the digest are worked out here, and a
 * signature counts only where it is one of the group's own over that digest. What is shown is what is signed: both are
 * made of one `Proposal`.
 */
import {
  type Address,
  concat,
  getAddress,
  type Hex,
  hashTypedData,
  isAddress,
  isHex,
  numberToHex,
  type PublicClient,
  recoverAddress,
  size,
  slice,
} from "viem";
import { Problem } from "../problem";
import type { Call } from "./calls";
import { accountsAbi } from "./generated/accounts";
import { encodeGroup, type Group, makeGroup, readSafe } from "./group";
import type { Place } from "./place";

/** Calls that `account` makes, at `nonce`, until `deadline` (unix seconds). */
export interface Execution {
  readonly account: Address;
  readonly calls: readonly Call[];
  readonly nonce: bigint;
  readonly deadline: bigint;
}

/** Whatever a group is asked to sign. */
export interface Proposed {
  readonly group: Group;
  readonly digest: Hex;
}

export interface Proposal extends Proposed {
  readonly execution: Execution;
}

/** By signer, a proof of kind 1 (a key's) or 2 (a contract's). */
export type Signatures = ReadonlyMap<Address, Hex>;

const EXECUTE = {
  Call: [
    { name: "target", type: "address" },
    { name: "data", type: "bytes" },
  ],
  Execute: [
    { name: "account", type: "address" },
    { name: "calls", type: "Call[]" },
    { name: "nonce", type: "uint256" },
    { name: "deadline", type: "uint256" },
  ],
} as const;
const SAFE_MESSAGE = { SafeMessage: [{ name: "message", type: "bytes" }] } as const;
const MOST_CALLS = 16;

export function proposalOf(place: Place, group: Group, execution: Execution): Proposal {
  return { group, execution, digest: hashTypedData(executionRequest(place, execution)) };
}

/** What the chain wants approved. */
export function executionRequest({ pool, accounts }: Place, execution: Execution) {
  const domain = { name: "Leasehold", version: "1", chainId: pool.chainId, verifyingContract: accounts } as const;
  return { domain, types: EXECUTE, primaryType: "Execute", message: execution } as const;
}

/** What an owner of a Safe is shown and signs: its digest, in the Safe's own domain. */
export function safeRequest({ pool }: Place, { group, digest }: Proposed) {
  const domain = { chainId: pool.chainId, verifyingContract: group.account } as const;
  return { domain, types: SAFE_MESSAGE, primaryType: "SafeMessage", message: { message: digest } } as const;
}

export type SigningRequest = ReturnType<typeof executionRequest> | ReturnType<typeof safeRequest>;

/** What a signer's wallet is asked for. */
export function signingRequest(place: Place, proposal: Proposal): SigningRequest {
  return proposal.group.safe ? safeRequest(place, proposal) : executionRequest(place, proposal.execution);
}

function signedHash(place: Place, proposal: Proposed): Hex {
  return proposal.group.safe ? hashTypedData(safeRequest(place, proposal)) : proposal.digest;
}

// ------------------------------------------------------------------------------------------------- what others bring

/** A proposal in a file's form (`leasehold.agreements.ProposalFile`): nothing of it is believed. */
export interface ProposalFile {
  readonly kind?: unknown;
  readonly chain?: unknown;
  readonly pool?: unknown;
  readonly account?: unknown;
  readonly group?: unknown;
  readonly messages?: unknown;
  readonly signatures?: unknown;
}

/** Whether it is calls that are proposed: other kinds are signed at the prompt. */
export function isExecution(file: ProposalFile): boolean {
  return file.kind === "execute";
}

/** The proposal in a file, with a Safe's owners by the chain's word. Throws a Problem for what nobody should sign. */
export async function readProposal(chain: PublicClient, place: Place, file: ProposalFile): Promise<Proposal> {
  const message = messageIn(place, file);
  if (!isExecution(file)) throw damaged("holds something else than calls");
  const execution = readExecution(message);
  const group = await groupOfFile(chain, place, file, execution.account);
  return proposalOf(place, group, execution);
}

/** The one message of a file that is for this pool. Throws a Problem. */
export function messageIn({ pool }: Place, file: ProposalFile): Readonly<Record<string, unknown>> {
  if (file.chain !== pool.chainId || !sameAddress(file.pool, pool.controller)) throw damaged("is for another pool");
  const [message, ...more] = Array.isArray(file.messages) ? file.messages : [];
  if (more.length) throw damaged("holds several messages");
  if (typeof message !== "object" || message === null) throw damaged("is damaged");
  return message as Readonly<Record<string, unknown>>;
}

/** The group in a file, which the message speaks of, too. Throws a Problem. */
export async function groupOfFile(
  chain: PublicClient,
  place: Place,
  file: ProposalFile,
  account: Address,
): Promise<Group> {
  const group = await readGroup(chain, place, file.group);
  if (sameAddress(file.account, group.account) && account === group.account) return group;
  throw damaged(`says that its account is ${String(file.account)}, and its signers make ${group.account}`);
}

export function damaged(why: string): Problem {
  return new Problem("proposal-refused", `The proposal ${why}.`, "Do not sign it.");
}

function readExecution(message: Readonly<Record<string, unknown>>): Execution {
  const { account, calls, nonce, deadline } = message;
  if (!Array.isArray(calls) || calls.length < 1 || calls.length > MOST_CALLS)
    throw damaged("has no calls, or too many");
  return {
    account: addressIn(account),
    calls: calls.map((call: { target?: unknown; data?: unknown } | null) => {
      if (!isHex(call?.data) || call.data.length % 2) throw damaged("has a call that cannot be read");
      return { target: addressIn(call.target), data: call.data.toLowerCase() as Hex };
    }),
    nonce: whole(nonce),
    deadline: whole(deadline),
  };
}

/** Throws a Problem for what is no number, or one that JSON has rounded. */
export function whole(value: unknown): bigint {
  const written = typeof value === "number" && Number.isSafeInteger(value) ? String(value) : value;
  if (typeof written !== "string" || !/^[0-9]{1,78}$/.test(written)) throw damaged("has a number that is none");
  return BigInt(written);
}

async function readGroup(chain: PublicClient, place: Place, said: unknown): Promise<Group> {
  if (typeof said !== "object" || said === null) throw damaged("names no group");
  const { threshold, signers, salt, safe } = said as Record<string, unknown>;
  const named = Array.isArray(signers) ? signers.map((signer) => addressIn(signer)) : [];
  if (safe === undefined || safe === null) {
    if (!isHex(salt)) throw damaged("names no group");
    return makeGroup(place.accounts, Number(threshold), named, salt);
  }
  const group = await readSafe(chain, addressIn(safe));
  const same = group.threshold === threshold && group.signers.join() === named.join();
  if (!same) throw damaged("says other owners of the Safe than the chain does");
  return group;
}

export function addressIn(value: unknown): Address {
  if (typeof value !== "string" || !isAddress(value)) throw damaged("has an address that is none");
  return getAddress(value);
}

export function sameAddress(value: unknown, address: Address): boolean {
  return typeof value === "string" && value.toLowerCase() === address.toLowerCase();
}

/** Of the signatures that came along those that hold, by who made them; others count for nothing. */
export async function signaturesIn(
  chain: PublicClient,
  place: Place,
  proposal: Proposed,
  file: ProposalFile,
): Promise<Signatures> {
  const said = typeof file.signatures === "object" && file.signatures !== null ? file.signatures : {};
  const good = new Map<Address, Hex>();
  for (const signer of proposal.group.signers) {
    const proofs = (said as Record<string, unknown>)[signer];
    const proof: unknown = Array.isArray(proofs) ? proofs[0] : undefined;
    if (isHex(proof) && (await holds(chain, place, proposal, signer, proof))) good.set(signer, proof);
  }
  return good;
}

const KEY_BYTES = 66;
const MOST_PROOF = 4_096;

async function holds(chain: PublicClient, place: Place, proposal: Proposed, signer: Address, proof: Hex) {
  if (size(proof) < 2 || size(proof) > MOST_PROOF) return false;
  const kind = slice(proof, 0, 1);
  if (kind === "0x01" && size(proof) === KEY_BYTES) {
    const hash = signedHash(place, proposal);
    const made = await recoverAddress({ hash, signature: slice(proof, 1) }).catch(() => null);
    return made === signer;
  }
  if (kind !== "0x02" || proposal.group.safe) return false;
  const args = [signer, proposal.digest, proof] as const;
  return await chain.readContract({ address: place.accounts, abi: accountsAbi, functionName: "isAuthorized", args });
}

// ------------------------------------------------------------------------------------------------ what is brought

type Execution712 = ReturnType<typeof executionRequest>;
type Safe712 = ReturnType<typeof safeRequest>;
/** A wallet that signs either. */
export type SignTypedData = ((request: Execution712) => Promise<Hex>) & ((request: Safe712) => Promise<Hex>);

/** One signer's proof. */
export async function signProposal(place: Place, proposal: Proposal, signTypedData: SignTypedData): Promise<Hex> {
  const request = signingRequest(place, proposal);
  const signature = request.primaryType === "Execute" ? await signTypedData(request) : await signTypedData(request);
  return concat(["0x01", signature]);
}

/** The proposal as it travels. */
export function fileOf(place: Place, proposal: Proposal, signatures: Signatures): object {
  const { execution } = proposal;
  const message = { ...execution, nonce: String(execution.nonce), deadline: Number(execution.deadline) };
  return travelling(place, proposal.group, "execute", message, signatures);
}

/** A message of that kind, as files have it. */
export function travelling(
  { pool }: Place,
  group: Group,
  kind: string,
  message: object,
  signatures: Signatures,
): object {
  const place = group.safe ? { safe: group.account, chain: pool.chainId } : {};
  return {
    leasehold: "proposal",
    version: 1,
    kind,
    chain: pool.chainId,
    pool: pool.controller,
    account: group.account,
    group: { threshold: group.threshold, signers: group.signers, salt: group.salt, ...place },
    messages: [message],
    signatures: Object.fromEntries([...signatures].map(([signer, proof]) => [signer, [proof]])),
  };
}

export function signatureFile(proposal: Proposed, signer: Address, proof: Hex): object {
  return { leasehold: "signature", version: 1, digests: [proposal.digest], signer, proofs: [proof] };
}

/** The account's proof, which anybody may submit. Throws a Problem while signatures lack. */
export function proofOf({ group }: Proposed, signatures: Signatures): Hex {
  const chosen = group.signers.filter((signer) => signatures.has(signer)).slice(0, group.threshold);
  if (chosen.length < group.threshold) {
    const lack = group.threshold - chosen.length;
    throw new Problem("signatures-missing", `${lack} more must sign.`, "Send the link to those who have not.");
  }
  const proofs = chosen.map((signer) => signatures.get(signer) ?? "0x");
  if (group.safe) return concat(["0x02", ...proofs.map((proof) => slice(proof, 1))]);
  const parts = chosen.map((signer, at) => {
    const proof = proofs[at] ?? "0x";
    const index = numberToHex(group.signers.indexOf(signer), { size: 1 });
    const length: Hex = slice(proof, 0, 1) === "0x02" ? numberToHex(size(proof) - 1, { size: 2 }) : "0x";
    return concat([index, slice(proof, 0, 1), length, slice(proof, 1)]);
  });
  return concat(["0x03", encodeGroup(group), ...parts]);
}
