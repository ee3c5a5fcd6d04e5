/** A group's session for one page: whose key it is for, nobody on the way can change. */
import { render, screen } from "@testing-library/react";
import { MemoryRouter } from "react-router";
import { createPublicClient, custom, type Hex, numberToHex } from "viem";
import { beforeEach, expect, test, vi } from "vitest";
import { type Session, sessionRequest } from "../../src/agent";
import {
  type Access,
  type AskedAccess,
  accessOf,
  accessSentence,
  askedAccess,
  askForAccess,
  askProposal,
  asksAccess,
  LEASE_OPS,
  makeGroup,
  openedAccess,
  openProposals,
  proofOf,
  signAccess,
} from "../../src/groups";
import { accessFile, readAccess } from "../../src/groups/access";
import { AccessView } from "../../src/pages/groups/AccessView";
import { flaws } from "../given/axe";
import { answering } from "../given/gateway";
import { ACCOUNTS, chainWith, group, place, pool, STRANGER, signers } from "./given";

const [ada, grace, edsger] = signers as [(typeof signers)[0], (typeof signers)[0], (typeof signers)[0]];
const LEASE = 7n << 16n;
const chain = chainWith([]);
const key = "0x000000000000000000000000000000000000dEaD";

const session = (changed: Partial<Session> = {}): Session => ({
  account: group.account,
  chain: pool.chainId,
  controller: pool.controller,
  leases: [LEASE],
  ops: LEASE_OPS,
  key,
  expiresAt: 4_000_000_000,
  ...changed,
});
const access = accessOf(place, group, session());

const sign = (who: typeof ada) => (request: object) => who.signTypedData(request as never);
// biome-ignore lint/suspicious/noExplicitAny: a wallet signs whatever it is asked for
const proofBy = (who: typeof ada, of: Access = access) => signAccess(place, of, sign(who) as any);
async function signedBy(whom: readonly (typeof ada)[], of: Access = access) {
  return new Map(await Promise.all(whom.map(async (who) => [who.address, await proofBy(who, of)] as const)));
}

// biome-ignore lint/suspicious/noExplicitAny: a file as a stranger changes it
const said = (of: Access, signatures: ReadonlyMap<`0x${string}`, Hex> = new Map()): any =>
  JSON.parse(JSON.stringify(accessFile(place, of, signatures)));

beforeEach(() => sessionStorage.clear());

test("a session travels as the library writes it, and is read as what it was", async () => {
  const file = said(access, await signedBy([ada]));
  expect(file).toMatchObject({ kind: "session", account: group.account, pool: pool.controller });
  expect(file.messages).toEqual([{ ...session(), leases: [Number(LEASE)] }]);
  expect((await readAccess(chain, place, file)).digest).toBe(access.digest);
  expect(accessSentence(access)).toMatch(
    /^Let one browser use lease 7 until .*: see how it is, .*It moves no money\.$/,
  );
});

test.each([
  ["for another pool", { controller: STRANGER }],
  ["for another chain", { chain: 1 }],
  ["of another account", { account: STRANGER }],
  ["for all of the group's leases", { leases: [] }],
  ["for a lease that is none", { leases: ["-1"] }],
  ["for what is not shown here", { ops: ["lease.logs", "lease.stop"] }],
  ["for what every object has", { ops: ["constructor"] }],
  ["for nothing", { ops: [] }],
  ["for a key that is none", { key: "0x12" }],
  ["without an end", { expiresAt: null }],
])("a session %s is not shown", async (_, changed) => {
  const file = said(access, await signedBy([ada]));
  await expect(
    readAccess(chain, place, { ...file, messages: [{ ...file.messages[0], ...changed }] }),
  ).rejects.toThrow();
});

test("a gateway that puts its own key in place of the asker's gets no signature", async () => {
  const own = accessOf(place, group, session({ key: STRANGER }));
  const file = said(own, await signedBy([ada])); // Ada has signed for her own key
  const path = `groups/${group.account}/proposals`;
  answering({
    [path]: () => ({ items: [{ proposal: file }], total: 1 }),
    [`${path}/${access.digest}`]: () => ({ proposal: file }),
    [`${path}/${own.digest}`]: () => ({ proposal: file }),
  });
  for (const digest of [access.digest, own.digest]) {
    await expect(askProposal(chain, place, group, digest)).rejects.toMatchObject({ code: "nobody-asks" });
  }
  expect(await openProposals(chain, place, group)).toEqual({ gathered: [], others: 1 });
});

test("another session of the same asker's is none under this one's link", async () => {
  const other = accessOf(place, group, session({ key: STRANGER }));
  const file = said(other, await signedBy([ada], other));
  answering({ [`groups/${group.account}/proposals/${access.digest}`]: () => ({ proposal: file }) });
  await expect(askProposal(chain, place, group, access.digest)).rejects.toMatchObject({ code: "proposal-swapped" });
});

test("another group's session is none of this one's", async () => {
  const alone = makeGroup(ACCOUNTS, 1, [ada.address]);
  const other = accessOf(place, alone, session({ account: alone.account }));
  const file = said(other, await signedBy([ada], other));
  answering({ [`groups/${group.account}/proposals/${other.digest}`]: () => ({ proposal: file }) });
  await expect(askProposal(chain, place, group, other.digest)).rejects.toMatchObject({ code: "wrong-group" });
});

test("a page opens what enough have signed for its very key, and nothing else", async () => {
  const asked: AskedAccess = { session: session(), privateKey: "0x01", proof: null };
  const [one, two] = [await signedBy([edsger]), await signedBy([edsger, grace])];
  expect(openedAccess(asked, { proposal: access, signatures: one })).toBe(asked);
  expect(openedAccess(asked, { proposal: access, signatures: two }).proof).toBe(proofOf(access, two));
  const other = accessOf(place, group, session({ key: STRANGER }));
  const theirs = { proposal: other, signatures: await signedBy([edsger, grace], other) };
  expect(openedAccess(asked, theirs)).toBe(asked);
});

test("the key that a page makes leaves it never, and comes back after a reload", async () => {
  const block = { number: "0x1", timestamp: "0x65000000", hash: numberToHex(1, { size: 32 }), transactions: [] };
  const node = createPublicClient({ transport: custom({ request: async () => block }) });
  const sent: string[] = [];
  vi.stubGlobal("fetch", async (_: string, init?: RequestInit) => {
    sent.push(String(init?.body));
    return Response.json({});
  });
  const signed: object[] = [];
  // biome-ignore lint/suspicious/noExplicitAny: a wallet signs whatever it is asked for
  const signTypedData: any = async (request: object) => {
    signed.push(request);
    return await sign(ada)(request);
  };
  const hands = { chain: node, place, group, member: ada.address, signTypedData, keep: sessionStorage };
  const asked = await askForAccess({ ...hands, tell: () => undefined }, LEASE);
  expect(signed).toEqual([sessionRequest(pool, asked.session)]);
  expect([asked.session.leases, asked.session.ops]).toEqual([[LEASE], LEASE_OPS]);
  expect(asked.session.ops).not.toContain("workload.put");
  expect(sent).toHaveLength(1);
  expect(sent[0]).toContain(asked.session.key);
  expect(sent[0]).not.toContain(asked.privateKey.slice(2));
  const ends = asked.session.expiresAt;
  expect(askedAccess(place, group.account, LEASE, sessionStorage, ends - 1)).toEqual(asked);
  expect(askedAccess(place, group.account, LEASE, sessionStorage, ends)).toBeNull();
  expect(askedAccess(place, group.account, LEASE + 1n, sessionStorage, 0)).toBeNull();
  expect(asksAccess({ proposal: access, signatures: new Map() })).toBe(true);
});

function shown(by: Hex, signatures: ReadonlyMap<`0x${string}`, Hex>) {
  const sender = { account: by, provider: {} as never };
  const page = (
    <AccessView
      account={{ chain, pool, sender }}
      place={place}
      gathered={{ proposal: access, signatures }}
      onSigned={() => undefined}
    />
  );
  return render(<MemoryRouter>{page}</MemoryRouter>);
}

test("who is asked sees in words what the key may do, whose it is to compare, and has one button", async () => {
  const { container } = shown(grace.address, await signedBy([ada]));
  expect(screen.getByText(accessSentence(access))).toBeTruthy();
  expect(screen.getAllByTitle(key).length).toBeGreaterThan(0);
  expect(screen.getByText("1 of 2, 50 %")).toBeTruthy();
  expect(screen.getByRole("button", { name: "Sign this with your wallet" })).toBeTruthy();
  expect(await flaws(container)).toEqual([]);
});

test("who is no signer, or has signed, or comes when enough have, signs nothing", async () => {
  for (const [who, by] of [
    [STRANGER, [ada]],
    [ada.address, [ada]],
    [grace.address, [ada, edsger]],
  ] as const) {
    const { unmount } = shown(who, await signedBy(by));
    expect(screen.queryByRole("button", { name: "Sign this with your wallet" })).toBeNull();
    unmount();
  }
});
