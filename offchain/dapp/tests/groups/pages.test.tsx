import { QueryClientProvider } from "@tanstack/react-query";
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import type { ReactNode } from "react";
import { MemoryRouter } from "react-router";
import { createPublicClient, custom, encodeFunctionData, type Hex, numberToHex } from "viem";
import { expect, test } from "vitest";
import { newQueries } from "../../src/app/Providers";
import { controllerAbi } from "../../src/chain/generated/abi";
import { type Gathered, makeGroup, signProposal } from "../../src/groups";
import { CreateGroup } from "../../src/pages/groups/CreateGroup";
import { ProposalView } from "../../src/pages/groups/ProposalView";
import type { Account } from "../../src/wallet";
import { flaws } from "../given/axe";
import { ACCOUNTS, group, place, pool, proposed, STRANGER, signers, wallet } from "./given";

const [ada, grace, edsger] = signers as [(typeof signers)[0], (typeof signers)[0], (typeof signers)[0]];
const close = encodeFunctionData({ abi: controllerAbi, functionName: "close", args: [12n << 16n] });

/** A chain on which nothing was carried out, and the account of somebody whose wallet is asked for nothing. */
function accountOf(account: Account["sender"]["account"]): Account {
  const block = { number: "0x1", timestamp: "0x1", hash: numberToHex(1, { size: 32 }), transactions: [] };
  const request = async ({ method }: { method: string }) =>
    method === "eth_getBlockByNumber" ? block : numberToHex(0, { size: 32 });
  const chain = createPublicClient({ transport: custom({ request }) });
  const provider = { request: () => Promise.reject(new Error("nobody asked for this")) } as never;
  return { chain, pool, sender: { account, provider } };
}

function shown(page: ReactNode) {
  return render(
    <QueryClientProvider client={newQueries()}>
      <MemoryRouter>{page}</MemoryRouter>
    </QueryClientProvider>,
  );
}

async function gathered(by: readonly (typeof ada)[], data: Hex = close): Promise<Gathered> {
  const proposal = proposed(data);
  const proofs = by.map(async (who) => [who.address, await signProposal(place, proposal, wallet(who))] as const);
  return { proposal, signatures: new Map(await Promise.all(proofs)) };
}

test("a group's address comes of its signers while they are typed", async () => {
  const { container } = shown(<CreateGroup account={accountOf(ada.address)} place={place} />);
  await userEvent.type(screen.getByLabelText("Signer 2"), grace.address);
  await userEvent.type(screen.getByLabelText("Signer 3"), edsger.address);
  expect(screen.getByText(group.account)).toBeTruthy();
  await userEvent.selectOptions(screen.getByLabelText("How many of them must sign"), "3");
  const all = makeGroup(ACCOUNTS, 3, [ada.address, grace.address, edsger.address]);
  expect(screen.getByText(all.account)).toBeTruthy();
  expect(screen.getByText(/All must sign/)).toBeTruthy();
  expect(await flaws(container)).toEqual([]);
});

test("who has not signed sees in words what it is, and has one button", async () => {
  const one = (
    <ProposalView
      account={accountOf(grace.address)}
      place={place}
      gathered={await gathered([ada])}
      onSigned={() => {}}
    />
  );
  const { container } = shown(one);
  expect(screen.getByText("Close lease 12: what is unused comes back into the ledger.")).toBeTruthy();
  expect(await screen.findByRole("button", { name: "Sign this with your wallet" })).toBeTruthy();
  expect(screen.getByText("1 of 2, 50 %")).toBeTruthy();
  expect(screen.queryByRole("button", { name: "Carry it out" })).toBeNull();
  expect(await flaws(container)).toEqual([]);
});

test("with enough signatures anybody carries it out, and who is no signer signs nothing", async () => {
  const whole = await gathered([ada, edsger]);
  shown(<ProposalView account={accountOf(STRANGER)} place={place} gathered={whole} onSigned={() => {}} />);
  expect(await screen.findByRole("button", { name: "Carry it out" })).toBeTruthy();
  expect(screen.queryByRole("button", { name: "Sign this with your wallet" })).toBeNull();
});

test("a proposal that cannot be shown has no button", async () => {
  const hidden = await gathered([], `${close}00`);
  shown(<ProposalView account={accountOf(grace.address)} place={place} gathered={hidden} onSigned={() => {}} />);
  expect((await screen.findByRole("alert")).textContent).toContain("Do not sign it.");
  expect(screen.queryByRole("button", { name: "Sign this with your wallet" })).toBeNull();
});
