import { useQuery } from "@tanstack/react-query";
import { type AgentWay, grantSession, keptSession, type SessionKey } from "../../agent";
import { gateway } from "../../api/gateway";
import { formatLease, type Quote } from "../../chain";
import { keyBook, recipientOf, resultsKey } from "../../data";
import { Problem } from "../../problem";
import { rent } from "../../renting";
import { type Output, readContact, volumeKey, volumeKeyRequest, type WorkloadFields } from "../../sealing";
import { type Account, type Tell, typedDataSigner } from "../../wallet";

export const agentUrl: AgentWay["url"] = (path) => gateway.url(path);

/** A document by its CID, from the gateway; whoever asks hashes it. */
export async function fetchDocument(cid: string): Promise<Uint8Array> {
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
    queryKey: ["onchain", "contact", account.pool.controller, machine],
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

/** Rents what was shown, and returns the lease as it is shown. */
export async function rentShown(account: Account, shown: Quote, workload: WorkloadFields, tell: Tell): Promise<string> {
  const key = await sessionFor(account, tell);
  const signTypedData = typedDataSigner(account.sender);
  const volumes = [];
  for (const volume of workload.volumes ?? []) {
    tell(`Making the key of your volume ${volume.name}`);
    const signature = await signTypedData(volumeKeyRequest(account.pool, account.sender.account, volume.name));
    volumes.push({ ...volume, key: volumeKey(signature) });
  }
  const outputs = await readableOutputs(account, workload, tell);
  const keyed = { ...workload, ...(volumes.length ? { volumes } : {}), ...(outputs ? { outputs } : {}) };
  const lease = await rent({ ...account, key, url: agentUrl, signTypedData, fetchDocument, tell }, shown, keyed);
  if (workload.secrets) sessionStorage.setItem(secretsPlace(formatLease(lease)), JSON.stringify(workload.secrets));
  return formatLease(lease);
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
