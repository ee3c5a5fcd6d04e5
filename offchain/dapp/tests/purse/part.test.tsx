/** The lease's page says exactly what is put aside and what it may be spent on, and what lies there by the chain's word. */
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, test, vi } from "vitest";
import PursePart from "../../src/pages/lease/PursePart";
import { purseGroup } from "../../src/purse";
import { flaws } from "../given/axe";
import { place, pool } from "../groups/given";
import { anew, HASH, hands, key, lease, payee, tenant, world } from "./given";

let held: object | null;

beforeEach(() => {
  anew();
  held = null;
  vi.stubGlobal("fetch", async (address: string) => {
    if (address.endsWith("/purses")) return Response.json({ payee, fee: "100000", before: 900, most: 64 });
    return held ? Response.json(held) : Response.json({ code: "not-here" }, { status: 404 });
  });
});

function shown(live = true) {
  const { chain, sender } = hands();
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  return render(
    <QueryClientProvider client={client}>
      <PursePart account={{ chain, pool, sender }} lease={lease} live={live} />
    </QueryClientProvider>,
  );
}

function funded(): string {
  const { account } = purseGroup(place, tenant.address, lease.id, key);
  world.ledgers[account] = 4_200_000n;
  world.transfers = [
    { to: account, amount: 6_300_000n, hash: HASH },
    { to: key, amount: 0n, hash: HASH },
  ];
  return account;
}

test("the sum is named whole, with what of it are fees, and follows what is chosen", async () => {
  const { container } = shown();
  await userEvent.click(await screen.findByText("Keep it going, out of a sum put aside"));
  expect(await screen.findByRole("button", { name: "Put 6.3 TUSD aside for this lease" })).toBeTruthy();
  expect(container.textContent).toContain("No more than that sum can be spent, whatever the gateway does");
  expect(container.textContent).toContain("6.3 TUSD in all, of which 0.3 TUSD are fees");
  await userEvent.selectOptions(screen.getByRole("combobox", { name: "Up to so many times" }), "12");
  expect(await screen.findByRole("button", { name: "Put 25.2 TUSD aside for this lease" })).toBeTruthy();
  expect(await flaws(container)).toEqual([]);
});

test("what lies aside is the chain's word; how often it may be extended, the gateway's", async () => {
  const account = funded();
  held = { account, made: 1, count: 3, seconds: 3_600, trouble: "Gas is dearer now." };
  const { container } = shown();
  expect(await screen.findByRole("button", { name: "Take 4.2 TUSD back" })).toBeTruthy();
  expect(await screen.findByText("It could not be extended: Gas is dearer now.")).toBeTruthy();
  expect(container.textContent).toContain("2 more times at most");
  expect(await flaws(container)).toEqual([]);
});

test("a gateway that names another purse is not believed to have this one", async () => {
  funded();
  held = { account: payee, made: 0, count: 64, seconds: 3_600, trouble: null };
  const { container } = shown(false);
  expect(await screen.findByRole("button", { name: "Take 4.2 TUSD back" })).toBeTruthy();
  expect(container.textContent).toContain("This gateway extends it no more, or never did.");
});
