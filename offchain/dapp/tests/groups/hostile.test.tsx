/** A gateway, or whoever wrote the link, turned hostile: nothing is shown that is not signed, nor signed that is not shown. */
import { concat, encodeFunctionData, type Hex } from "viem";
import { expect, test } from "vitest";
import { controllerAbi } from "../../src/chain/generated/abi";
import {
  checked,
  decodeCall,
  fileOf,
  groupInLink,
  makeGroup,
  type Proposal,
  readProposal,
  readSafe,
  signaturesIn,
  signingRequest,
  signProposal,
} from "../../src/groups";
import { askProposal, groupsOf, openProposals } from "../../src/groups/gathering";
import { answering } from "../given/gateway";
import { ACCOUNTS, chainWith, group, place, pool, proposed, SAFE, STRANGER, signers, wallet } from "./given";

const [ada, grace] = signers as [(typeof signers)[0], (typeof signers)[0]];
const withdraw = (amount: bigint, to = ada.address) =>
  encodeFunctionData({ abi: controllerAbi, functionName: "withdraw", args: [to, amount] });
const proposal = proposed(withdraw(1n));
const chain = chainWith([]);

// biome-ignore lint/suspicious/noExplicitAny: a file as a stranger changes it
const said = (of: Proposal = proposal, signatures = new Map<`0x${string}`, Hex>()): any =>
  JSON.parse(JSON.stringify(fileOf(place, of, signatures)));

test.each([
  ["for another pool", { pool: STRANGER }],
  ["for another chain", { chain: 1 }],
  ["of an account that these signers do not make", { account: STRANGER }],
  ["of another kind", { kind: "session" }],
  ["with a second message", { messages: [said().messages[0], said().messages[0]] }],
  ["without calls", { messages: [{ ...said().messages[0], calls: [] }] }],
  ["with half a byte", { messages: [{ ...said().messages[0], calls: [{ target: ACCOUNTS, data: "0xabc" }] }] }],
  ["with a nonce that is none", { messages: [{ ...said().messages[0], nonce: "-1" }] }],
  ["whose message is of another account", { messages: [{ ...said().messages[0], account: STRANGER }] }],
  ["that lets fewer sign", { group: { ...said().group, threshold: 1 } }],
  ["that lets a stranger sign", { group: { ...said().group, signers: [STRANGER, ada.address] } }],
])("a proposal %s is not shown", async (_, edits) => {
  await expect(readProposal(chain, place, { ...said(), ...edits })).rejects.toThrow();
});

test("a proposal that is swapped under its link is refused", async () => {
  const other = proposed(withdraw(10n ** 9n, STRANGER));
  answering({ [`groups/${group.account}/proposals/${proposal.digest}`]: () => ({ proposal: said(other) }) });
  await expect(askProposal(chain, place, group, proposal.digest)).rejects.toMatchObject({ code: "proposal-swapped" });
});

test("another group's proposal is not shown under this one", async () => {
  const other = proposed(withdraw(1n), makeGroup(ACCOUNTS, 1, [ada.address]));
  answering({
    [`groups/${group.account}/proposals`]: () => ({
      items: [{ proposal: said(other) }, { proposal: said() }],
      total: 2,
    }),
  });
  const open = await openProposals(chain, place, group);
  expect(open.gathered.map((each) => each.proposal)).toEqual([proposal]);
  expect(open.others).toBe(1);
});

test("a signature counts only as its signer's, over this very proposal", async () => {
  const own = await signProposal(place, proposal, wallet(ada));
  const other = await signProposal(place, proposed(withdraw(2n)), wallet(grace));
  const file = { ...said(), signatures: { [ada.address]: [own], [grace.address]: [other], [STRANGER]: [own] } };
  expect([...(await signaturesIn(chain, place, proposal, file)).keys()]).toEqual([ada.address]);
  const forged = { [grace.address]: [own], [ada.address]: ["0x01", "0x", null, 7] };
  expect((await signaturesIn(chain, place, proposal, { ...said(), signatures: forged })).size).toBe(0);
});

test("the wallet gets the bytes that were shown, and nothing else of the gateway's", async () => {
  const read = await readProposal(chain, place, { ...said(), words: "Take nothing", deadline: 0, digest: STRANGER });
  const { message, domain } = signingRequest(place, read) as ReturnType<typeof signingRequest> & { message: object };
  expect(message).toEqual(read.execution);
  expect(domain).toMatchObject({ chainId: pool.chainId, verifyingContract: ACCOUNTS });
});

test.each([
  ["a contract that is none of the pool's", STRANGER, withdraw(1n)],
  ["a function that it does not have", pool.controller, "0xdeadbeef" as Hex],
  ["bytes behind its arguments", pool.controller, concat([withdraw(1n), "0x00"])],
  ["a whole word behind its arguments", pool.controller, concat([withdraw(1n), `0x${"00".repeat(32)}`])],
  [
    "dirt above an address",
    pool.controller,
    withdraw(1n)
      .replace("0x", "0x")
      .replace(/^(0x.{8})0/, "$11") as Hex,
  ],
  ["nothing", pool.controller, "0x" as Hex],
])("a call of %s cannot be shown, so nobody signs it", (_, target, data) => {
  expect(() => decodeCall({ target, data }, place)).toThrow(expect.objectContaining({ code: "call-unreadable" }));
});

test("calls deep inside one another are not shown", () => {
  let data = withdraw(1n);
  for (let depth = 0; depth < 4; depth += 1) {
    data = encodeFunctionData({ abi: controllerAbi, functionName: "multicall", args: [[data]] });
  }
  expect(() => decodeCall({ target: pool.controller, data }, place)).toThrow("inside one another");
});

test("a Safe's owners are the chain's, whatever a proposal says", async () => {
  const owners = signers.map(({ address }) => address).sort();
  const safe = { ...group, safe: true, account: SAFE, signers: owners };
  const file = said(proposed(withdraw(1n), safe));
  await expect(readProposal(chainWith(owners), place, file)).resolves.toBeTruthy();
  await expect(readProposal(chainWith([STRANGER]), place, file)).rejects.toThrow("says other owners");
  await expect(readProposal(chainWith(owners, 1n), place, file)).rejects.toThrow("says other owners");
  await expect(readSafe(chainWith(owners, 2n, "1.1.1"), SAFE)).rejects.toThrow("older than 1.3");
  await expect(readSafe(chainWith(owners), STRANGER)).rejects.toMatchObject({ code: "not-a-safe" });
});

test("a link whose signers make another account is refused before anybody pays into it", () => {
  const wrong = new URLSearchParams({ of: "1", signers: [ada.address, grace.address].join() });
  expect(() => groupInLink(place, group.account, wrong)).toThrow(expect.objectContaining({ code: "wrong-group" }));
  expect(() => checked(STRANGER, group)).toThrow(expect.objectContaining({ code: "wrong-group" }));
});

test("groups whose address is another, or for which one does not sign, are not shown as one's own", async () => {
  const { threshold, salt } = group;
  const item = { account: group.account, threshold, signers: group.signers, salt, safe: false };
  answering({
    groups: () => ({
      items: [item, { ...item, threshold: 1 }, { ...item, account: STRANGER }, { ...item, signers: 7 }],
    }),
  });
  expect(await groupsOf(place, ada.address)).toEqual([group]);
  expect(await groupsOf(place, STRANGER)).toEqual([]);
});
