/** Where signatures are gathered: a gateway, which can lose and withhold, and whose every word is checked. */
import type { Address, Hex, PublicClient } from "viem";
import { gateway } from "../api/gateway";
import type { Part } from "../api/types";
import { Problem } from "../problem";
import { type Access, accessFile, isAccess, readAccess } from "./access";
import { type Group, makeGroup } from "./group";
import { checked } from "./invitation";
import type { KnownGroup } from "./known";
import type { Place } from "./place";
import {
  fileOf,
  type Proposal,
  type ProposalFile,
  type Proposed,
  readProposal,
  type Signatures,
  signatureFile,
  signaturesIn,
} from "./proposal";

/** A proposal, and the signatures of it that hold. */
export interface Gathered<Kind extends Proposed = Proposal> {
  readonly proposal: Kind;
  readonly signatures: Signatures;
}

/** Of the kinds that are shown here. */
export type GatheredAny = Gathered | Gathered<Access>;

/** Whether a session is asked for, and no calls are. */
export function asksAccess(gathered: GatheredAny): gathered is Gathered<Access> {
  return "session" in gathered.proposal;
}

interface SaidGroup {
  readonly account: Address;
  readonly threshold: number;
  readonly signers: readonly string[];
  readonly salt: Hex;
  readonly safe: boolean;
}

interface Said {
  readonly proposal: ProposalFile;
}

const MOST_PAGES = 5;

/**
 * Groups and Safes that the account signs for, as far as the gateway knows. Those whose address is another are left out.
 * Anybody makes groups that name it, so that there may be more than anybody looks through: 1,000 are asked for, its own
 * before others that came after them.
 */
export async function groupsOf(place: Place, member: Address): Promise<readonly KnownGroup[]> {
  const items: SaidGroup[] = [];
  let after: string | undefined;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const part: Part<SaidGroup> = await gateway.get("groups", { member, after });
    items.push(...part.items);
    if (!part.next) break;
    after = part.next;
  }
  return items.flatMap((said): KnownGroup[] => {
    try {
      if (said.safe) return [{ account: said.account, safe: true }];
      const group = checked(said.account, groupOf(place, said));
      return group.signers.includes(member) ? [group] : [];
    } catch {
      return [];
    }
  });
}

/** Who signs for a group, by the gateway's word, which its address proves. Throws a Problem. */
export async function askGroup(place: Place, account: Address): Promise<Group> {
  const { group } = await gateway.get<{ group: SaidGroup }>(`groups/${account}`);
  if (group.safe) throw new Problem("no-such-group", "That is a Safe.", "Open it as one, by its link.");
  return checked(account, groupOf(place, group));
}

function groupOf({ accounts }: Place, { threshold, signers, salt }: SaidGroup): Group {
  return makeGroup(accounts, threshold, signers, salt);
}

/** What a group is asked to sign. `others`: how many are of another kind, or refused here. */
export async function openProposals(chain: PublicClient, place: Place, group: Group) {
  const { items } = await gateway.get<Part<Said>>(`groups/${group.account}/proposals`);
  const read = await Promise.allSettled(items.map((said) => gathered(chain, place, group, said)));
  const good = read.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  return { gathered: good, others: items.length - good.length };
}

/** One, by its digest. Throws a Problem where the gateway has another for it. */
export async function askProposal(chain: PublicClient, place: Place, group: Group, digest: Hex): Promise<GatheredAny> {
  const said = await gateway.get<Said>(`groups/${group.account}/proposals/${digest}`);
  const read = await gathered(chain, place, group, said);
  if (read.proposal.digest === digest) return read;
  throw new Problem("proposal-swapped", "The gateway shows another proposal than the link names.", "Do not sign it.");
}

/** Brings a proposal with the signatures that there are. */
export async function bring(place: Place, asked: GatheredAny): Promise<void> {
  const file = asksAccess(asked)
    ? accessFile(place, asked.proposal, asked.signatures)
    : fileOf(place, asked.proposal, asked.signatures);
  await gateway.post(`groups/${asked.proposal.group.account}/proposals`, file);
}

/** Brings one signer's signature. */
export async function bringSignature(proposal: Proposed, signer: Address, proof: Hex): Promise<void> {
  const path = `groups/${proposal.group.account}/proposals/${proposal.digest}/signatures`;
  await gateway.post(path, signatureFile(proposal, signer, proof));
}

async function gathered(
  chain: PublicClient,
  place: Place,
  group: Group,
  { proposal: file }: Said,
): Promise<GatheredAny> {
  if (isAccess(file)) {
    const proposal = await readAccess(chain, place, file);
    checked(group.account, proposal.group);
    const signatures = await signaturesIn(chain, place, proposal, file);
    if (signatures.size > 0) return { proposal, signatures };
    // Whoever asks signs first. Without, it is nobody's of the group, and its key may be the gateway's own.
    throw new Problem("nobody-asks", "None of the group's signers has asked for this session.", "Do not sign it.");
  }
  const proposal = await readProposal(chain, place, file);
  checked(group.account, proposal.group);
  return { proposal, signatures: await signaturesIn(chain, place, proposal, file) };
}
