/** Where signatures are gathered: a gateway, which can lose and withhold, and whose every word is checked. */
import type { Address, Hex, PublicClient } from "viem";
import { gateway } from "../api/gateway";
import type { Part } from "../api/types";
import { Problem } from "../problem";
import { type Group, makeGroup } from "./group";
import { checked } from "./invitation";
import type { KnownGroup } from "./known";
import type { Place } from "./place";
import {
  fileOf,
  isExecution,
  type Proposal,
  type ProposalFile,
  readProposal,
  type Signatures,
  signatureFile,
  signaturesIn,
} from "./proposal";

/** A proposal, and the signatures of it that hold. */
export interface Gathered {
  readonly proposal: Proposal;
  readonly signatures: Signatures;
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
  const read = await Promise.allSettled(
    items.filter(({ proposal }) => isExecution(proposal)).map((said) => gathered(chain, place, group, said)),
  );
  const good = read.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  return { gathered: good, others: items.length - good.length };
}

/** One, by its digest. Throws a Problem where the gateway has another for it. */
export async function askProposal(chain: PublicClient, place: Place, group: Group, digest: Hex): Promise<Gathered> {
  const said = await gateway.get<Said>(`groups/${group.account}/proposals/${digest}`);
  const read = await gathered(chain, place, group, said);
  if (read.proposal.digest === digest) return read;
  throw new Problem("proposal-swapped", "The gateway shows another proposal than the link names.", "Do not sign it.");
}

/** Brings a proposal with the signatures that there are. */
export async function bring(place: Place, { proposal, signatures }: Gathered): Promise<void> {
  await gateway.post(`groups/${proposal.group.account}/proposals`, fileOf(place, proposal, signatures));
}

/** Brings one signer's signature. */
export async function bringSignature(proposal: Proposal, signer: Address, proof: Hex): Promise<void> {
  const path = `groups/${proposal.group.account}/proposals/${proposal.digest}/signatures`;
  await gateway.post(path, signatureFile(proposal, signer, proof));
}

async function gathered(chain: PublicClient, place: Place, group: Group, said: Said): Promise<Gathered> {
  const proposal = await readProposal(chain, place, said.proposal);
  checked(group.account, proposal.group);
  return { proposal, signatures: await signaturesIn(chain, place, proposal, said.proposal) };
}
