/** Groups as the library has them: addresses, digests and proofs, to the byte. */
import { type Address, concat, encodeFunctionData, type Hex, hashTypedData, parseAbi, slice, zeroHash } from "viem";
import { expect, test } from "vitest";
import { controllerAbi } from "../../src/chain/generated/abi";
import {
  decodeCall,
  fileOf,
  groupInLink,
  keepGroup,
  knownGroups,
  makeGroup,
  proofOf,
  proposalOf,
  readProposal,
  routeOf,
  rows,
  sentence,
  signaturesIn,
  signingRequest,
  signProposal,
} from "../../src/groups";
import { ACCOUNTS, chainWith, group, place, pool, proposed, SAFE, STRANGER, signers, vectors, wallet } from "./given";

const [ada, grace, edsger] = signers as [(typeof signers)[0], (typeof signers)[0], (typeof signers)[0]];
const close = encodeFunctionData({ abi: controllerAbi, functionName: "close", args: [12n << 16n] });
const chain = chainWith([]);

test.each(vectors.groups)(
  "the group “$name” has the library's address",
  ({ accounts, threshold, signers, salt, account }) => {
    expect(makeGroup(accounts, threshold, [...signers].reverse(), salt).account).toBe(account);
  },
);

test("a digest is the library's, whatever the nonce", () => {
  const [vector] = vectors.vectors.filter(({ name }) => name === "Execute");
  const { account, calls, nonce, deadline } = vector.message;
  const at = { ...place, pool: { ...pool, chainId: vector.domain.chainId }, accounts: vector.domain.verifyingContract };
  const execution = { account, calls, nonce: BigInt(nonce), deadline: BigInt(deadline) };
  expect(proposalOf(at, group, execution).digest).toBe(vector.digest);
});

test("two of three sign, and their proof is the library's to the byte", async () => {
  const vector = vectors.groups.find(({ keys_only, signed }) => keys_only && signed.length === 2);
  const made = makeGroup(vector.accounts, vector.threshold, vector.signers, vector.salt);
  const bytes: Hex = vector.proof;
  const head = 2 + 1 + 20 * made.signers.length + 32;
  const signatures = new Map(
    vector.signed.map(({ index }: { index: number }, at: number) => {
      const from = head + at * 67;
      return [made.signers[index], concat(["0x01", slice(bytes, from + 2, from + 67)])];
    }),
  ) as ReadonlyMap<`0x${string}`, Hex>;
  const proposal = {
    group: made,
    digest: vector.digest,
    execution: { account: made.account, calls: [], nonce: 0n, deadline: 0n },
  };
  expect(proofOf(proposal, signatures)).toBe(bytes);
  expect(() => proofOf(proposal, new Map([...signatures].slice(0, 1)))).toThrow("1 more must sign.");
});

test("a proposal travels, and comes back with the signatures that hold", async () => {
  const proposal = proposed(close);
  const signatures = new Map([[ada.address, await signProposal(place, proposal, wallet(ada))]]);
  const file = JSON.parse(JSON.stringify(fileOf(place, proposal, signatures)));
  const read = await readProposal(chain, place, file);
  expect(read).toEqual(proposal);
  expect(await signaturesIn(chain, place, read, file)).toEqual(signatures);
});

test("a Safe's owner signs its message over the digest, in the Safe's own domain", async () => {
  const owners = signers.map(({ address }) => address).sort();
  const safe = { ...group, safe: true, account: SAFE, signers: owners };
  const proposal = proposed(close, safe);
  const request = signingRequest(place, proposal);
  expect(request.primaryType).toBe("SafeMessage");
  expect(request.domain).toEqual({ chainId: 31_337, verifyingContract: SAFE });
  expect(hashTypedData(request as Parameters<typeof hashTypedData>[0])).not.toBe(proposal.digest);
  const signed = await Promise.all(
    [grace, edsger].map(async (who) => [who.address, await signProposal(place, proposal, wallet(who))] as const),
  );
  const file = JSON.parse(JSON.stringify(fileOf(place, proposal, new Map(signed))));
  const at = chainWith(owners);
  const read = await readProposal(at, place, file);
  const good = await signaturesIn(at, place, read, file);
  expect(good.size).toBe(2);
  const ordered = owners.filter((owner) => good.has(owner)).map((owner) => slice(good.get(owner) ?? "0x", 1));
  expect(proofOf(read, good)).toBe(concat(["0x02", ...ordered]));
});

test.each([
  ["open", "Rent 1 of machine 7 for 1h: at most 2.4 TUSD go from the ledger into escrow."],
  ["close", "Close lease 12: what is unused comes back into the ledger."],
  ["withdraw", `Take 1.5 TUSD out of the ledger, into the wallet of ${STRANGER}.`],
])("%s is said in words", (name, words) => {
  const request = {
    ...{ machine: 7, revision: 3, share: 8, placement: 0, duration: 3_600, maxPrice: 2_400_000n, spot: false },
    ...{ allowUnverified: false, workload: zeroHash, settle: [], reuse: 0n, backup: zeroHash },
  } as const;
  const data = {
    open: encodeFunctionData({ abi: controllerAbi, functionName: "open", args: [request] }),
    close,
    withdraw: encodeFunctionData({ abi: controllerAbi, functionName: "withdraw", args: [STRANGER, 1_500_000n] }),
  }[name] as Hex;
  const call = decodeCall({ target: pool.controller, data }, place);
  expect(sentence(call, pool.money)).toBe(words);
  expect(rows(call, pool.money)[0]).toEqual([`Controller.${name}`, pool.controller]);
});

const delegated = (of: Address, cap: bigint, expiry: number) =>
  decodeCall(
    {
      target: ACCOUNTS,
      data: encodeFunctionData({
        abi: parseAbi([
          "function setDelegate(address pool, address delegate, uint96 cap, uint32 period, uint40 expiry)",
        ]),
        args: [of, STRANGER, cap, 3_600, expiry],
      }),
    },
    place,
  );

test("a delegate who may spend nothing may act all the same, as long as he does not end", () => {
  const says = (cap: bigint, expiry: number) => sentence(delegated(pool.controller, cap, expiry), pool.money);
  expect(says(0n, 0)).toBe(`Let ${STRANGER} act for this account no longer.`);
  expect(says(0n, 1_800_000_000)).toBe(`Let ${STRANGER} close and change what this account rents, and spend nothing.`);
  expect(says(5_000_000n, 1_800_000_000)).toContain("for up to 5 TUSD in each 1h.");
});

test("a delegate in another pool is not signed for: a cap there is in another money than this page shows", () => {
  expect(() => delegated(STRANGER, 10n ** 9n, 1_800_000_000)).toThrow("it is for another pool");
});

test("what several calls in one do is said of each", () => {
  const data = encodeFunctionData({ abi: controllerAbi, functionName: "multicall", args: [[close, close]] });
  const call = decodeCall({ target: pool.controller, data }, place);
  expect(sentence(call, pool.money).split("Close lease 12").length).toBe(3);
});

test("a link tells who signs, and keeps nothing secret", () => {
  const url = new URL(routeOf(group), "http://x");
  expect(url.pathname).toBe(`/groups/${group.account}`);
  expect(groupInLink(place, group.account, url.searchParams)).toEqual(group);
  expect(groupInLink(place, group.account, new URLSearchParams())).toBeNull();
});

test("groups are remembered, each once, and a damaged memory is none", () => {
  const other = makeGroup(ACCOUNTS, 1, [STRANGER]);
  for (const each of [group, other, group]) keepGroup(place, localStorage, each);
  expect(knownGroups(place, localStorage)).toEqual([group, other]);
  const [key] = Object.keys(localStorage);
  localStorage.setItem(key ?? "", '[{"safe": 3}, null, {"signers": ["x"], "salt": "0x"}]');
  expect(knownGroups(place, localStorage)).toEqual([]);
});

test.each([
  ["nobody", 1, []],
  ["more than there are", 2, [STRANGER]],
  ["the same twice", 1, [STRANGER, STRANGER.toLowerCase()]],
  ["no address", 1, ["0x12"]],
  ["the address zero", 1, [`0x${"0".repeat(40)}`]],
  ["a wrong checksum", 1, [STRANGER.replace("C8", "c8")]],
])("%s is no group", (_, threshold, named) => {
  expect(() => makeGroup(ACCOUNTS, threshold, named)).toThrow(expect.objectContaining({ code: "no-such-group" }));
});
