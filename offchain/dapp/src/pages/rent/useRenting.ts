import { useQuery } from "@tanstack/react-query";
import type { Hex } from "viem";
import { type AgentWay, grantSession, keptSession, type SessionKey } from "../../agent";
import { fetchFromOwnNode, leaveOnOwnNode, ownNode } from "../../alone/ownNode";
import { gateway, isAlone } from "../../api/gateway";
import { formatLease, type Quote } from "../../chain";
import { keyBook, recipientOf, resultsKey } from "../../data";
import { type Group, type Place, propose } from "../../groups";
import { Problem } from "../../problem";
import { type Courier, prepareTogether, rent } from "../../renting";
import { type Output, readContact, volumeKey, volumeKeyRequest, type WorkloadFields } from "../../sealing";
import { type Account, type Tell, typedDataSigner } from "../../wallet";

export const agentUrl: AgentWay["url"] = (path) => gateway.url(path);

/** A document by its CID, from the gateway or the reader's own IPFS node; whoever asks hashes it. */
export async function fetchDocument(cid: string): Promise<Uint8Array> {
  if (isAlone()) return await fetchFromOwnNode(cid);
  const response = await fetch(gateway.url(`documents/${cid}`)).catch(() => null);
  if (!response?.ok) {
    throw new Problem(
      "document-unavailable",
      "The gateway does not have the machine's contact document.",
      "Try again.",
    );
  }
  return new Uint8Array(await response.arrayBuffer());
}

/** The machine's contact document, by the chain's digest. */
export function useContact(account: Account, machine: number) {
  return useQuery({
    queryKey: ["onchain", "contact", account.pool.controller, machine, isAlone() ? ownNode() : null],
    queryFn: () => readContact(account.chain, account.pool, machine, fetchDocument),
  });
}

/** The session that this tab has, or a new one that the wallet signs. */
export async function sessionFor(account: Account, tell: Tell): Promise<SessionKey> {
  const now = Math.floor(Date.now() / 1000);
  const kept = keptSession(account.pool, account.sender.account, sessionStorage, now);
  if (kept) return kept;
  tell("Letting this tab talk to the machine");
  return await grantSession(account.pool, account.sender.account, typedDataSigner(account.sender), sessionStorage, now);
}

/** By whom a workload goes: a gateway that carries calls to the agent, or, where none is asked, one's own IPFS node. */
async function courierOf(account: Account, tell: Tell): Promise<Courier> {
  if (isAlone()) return { leave: leaveOnOwnNode };
  return { key: await sessionFor(account, tell), url: agentUrl };
}

/** Rents what was shown, and returns the lease as it is shown. */
export async function rentShown(account: Account, shown: Quote, workload: WorkloadFields, tell: Tell): Promise<string> {
  const courier = await courierOf(account, tell);
  const signTypedData = typedDataSigner(account.sender);
  const volumes = [];
  for (const volume of workload.volumes ?? []) {
    tell(`Making the key of your volume ${volume.name}`);
    const signature = await signTypedData(volumeKeyRequest(account.pool, account.sender.account, volume.name));
    volumes.push({ ...volume, key: volumeKey(signature) });
  }
  const outputs = await readableOutputs(account, workload, tell);
  const keyed = { ...workload, ...(volumes.length ? { volumes } : {}), ...(outputs ? { outputs } : {}) };
  let opening: Hex | null = null;
  const heard: Tell = (words, stage) => {
    if (stage?.kind === "mined") opening = stage.receipt.transactionHash;
    tell(words, stage);
  };
  const hands = { ...account, courier, signTypedData, fetchDocument, tell: heard };
  const lease = formatLease(await rent(hands, shown, keyed));
  if (opening !== null) sessionStorage.setItem(openingPlace(lease), opening);
  if (workload.secrets) sessionStorage.setItem(secretsPlace(lease), JSON.stringify(workload.secrets));
  return lease;
}

/** The transaction that opened a lease, where this tab sent it: what is asked for after a reorganisation. */
export function openingOf(lease: string): Hex | null {
  return sessionStorage.getItem(openingPlace(lease)) as Hex | null;
}

function openingPlace(lease: string): string {
  return `leasehold.opening.${lease}`;
}

/** Has a group rent what was shown: makes the proposal, signed by this wallet as one of its signers, and gives its digest. */
export async function proposeShown(
  account: Account,
  place: Place,
  group: Group,
  shown: Quote,
  workload: WorkloadFields,
  tell: Tell,
): Promise<string> {
  if (workload.volumes?.length) {
    throw new Problem(
      "no-volumes-together",
      "A volume's key is made by one wallet, so that the others of a group could not read it.",
      "Choose a template without volumes.",
    );
  }
  const key = await sessionFor(account, tell);
  const signTypedData = typedDataSigner(account.sender);
  const outputs = await readableOutputs(account, workload, tell); // by the one who proposes
  const keyed = outputs ? { ...workload, outputs } : workload;
  const hands = { ...account, courier: { key, url: agentUrl }, signTypedData, fetchDocument, tell };
  const { deed, heldUntil } = await prepareTogether(hands, group.account, shown, keyed);
  const { chain, sender } = account;
  const calls = [{ target: deed.to, data: deed.data }];
  const proposing = { chain, place, group, member: sender.account, signTypedData, tell };
  const { digest } = await propose(proposing, calls, heldUntil - HELD_MARGIN);
  if (workload.secrets) sessionStorage.setItem(secretsPlace(digest), JSON.stringify(workload.secrets));
  return digest;
}

const HELD_MARGIN = 120; // seconds between a proposal's end and the workload's, so that the lease still finds it

/** What was made for a proposal is the lease's that it opened. */
export function handSecretsOn(proposal: string, lease: string): void {
  const kept = sessionStorage.getItem(secretsPlace(proposal));
  if (kept) sessionStorage.setItem(secretsPlace(lease), kept);
}

/** The outputs, each sealed to this account unless it is public or names its readers; undefined: there are none. */
async function readableOutputs(account: Account, { outputs }: WorkloadFields, tell: Tell) {
  const own = (output: Output): boolean => !output.public && !output.recipients?.length;
  if (!outputs?.some(own)) return outputs;
  const { pool, sender } = account;
  tell("Making the key of your results");
  const identity = await resultsKey(keyBook(sender.account), pool, sender.account, typedDataSigner(sender));
  const recipients = [await recipientOf(identity)];
  return outputs.map((output) => (own(output) ? { ...output, recipients } : output));
}

/** The secrets that were made for a lease, which this tab alone has. */
export function secretsOf(lease: string): Readonly<Record<string, string>> {
  const kept = sessionStorage.getItem(secretsPlace(lease));
  return kept ? (JSON.parse(kept) as Record<string, string>) : {};
}

function secretsPlace(lease: string): string {
  return `leasehold.secrets.${lease}`;
}
