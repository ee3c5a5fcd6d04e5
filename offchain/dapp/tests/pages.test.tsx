import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { flaws } from "./given/axe";
import { answering, Refusal, shown } from "./given/gateway";
import { machine, QUOTE, wholeMachine } from "./given/machines";
import { BLOCK, POOL } from "./given/pool";

test("a machine says what a share costs and what comes back, before anything asks for a wallet", async () => {
  const asked = answering({
    "machines/12": () => ({ machine: wholeMachine() }),
    "machines/12/quote": () => ({ quote: QUOTE }),
  });
  const { container } = shown("/machines/12");
  expect(await screen.findByText("0.513071")).toBeTruthy();
  expect(screen.getByText("Not started within 10m, or declined")).toBeTruthy();
  expect(screen.getByText("MIG, in hardware")).toBeTruthy();
  const prices = screen.getByRole("region", { name: "Former prices" });
  expect(
    within(prices)
      .getAllByRole("time")
      .map((at) => at.getAttribute("datetime")),
  ).toEqual(["2026-11-24T16:42:41.000Z", "2026-11-23T16:42:41.000Z"]);
  expect(screen.getByRole("link", { name: "Rent for 2h" }).getAttribute("href")).toContain(
    "machine=12&cells=1&seconds=7200",
  );
  const duration = screen.getByRole("textbox", { name: "Duration" });
  await userEvent.clear(duration);
  await userEvent.type(duration, "1d");
  await screen.findByRole("link", { name: "Rent for 1d" });
  expect(asked).toContain("machines/12/quote?cells=1&seconds=86400&spot=false");
  expect(document.title).toBe("2 × NVIDIA H100 80GB HBM3, machine 12 · Leasehold");
  expect(await flaws(container)).toEqual([]);
});

test("what cannot be rented now says why, and offers no way on", async () => {
  const problem = { code: "no-room", detail: "Machine 12 has no room for 1/8 of a GPU." };
  answering({
    "machines/12": () => ({ machine: wholeMachine({ state: "busy", free_cells: 0 }) }),
    "machines/12/quote": () => ({ quote: { ...QUOTE, problem } }),
  });
  shown("/machines/12");
  expect(await screen.findByText(`Not now: ${problem.detail}`)).toBeTruthy();
  expect(screen.queryByRole("link", { name: /^Rent/ })).toBeNull();
});

test("a machine that is not there is told of in the library's words", async () => {
  answering({
    "machines/9": () => new Refusal(404, { code: "no-such-thing", detail: "There is no machine 9", hint: "" }),
  });
  shown("/machines/9");
  expect((await screen.findByRole("alert")).textContent).toContain("There is no machine 9");
});

test("the pool shows its powers, and its parameters with their units", async () => {
  answering({});
  const { container } = shown("/pool");
  expect(await screen.findByText("Nothing; proposes parameters")).toBeTruthy();
  expect(screen.getByText("2.5 %")).toBeTruthy();
  expect(screen.getByText("10m")).toBeTruthy();
  expect(screen.getByText("50 TUSD")).toBeTruthy();
  expect(screen.getByText("Of what a provider earns; it goes to the treasury.")).toBeTruthy();
  expect(await screen.findByText("Nobody has bought a seat: no machine can be verified yet.")).toBeTruthy();
  expect(await flaws(container)).toEqual([]);
});

test("a provider is looked at by account: money, machines, earnings as CSV", async () => {
  const account = machine().provider;
  answering({
    [`providers/${account}`]: () => ({
      provider: {
        ...{ provider: account, machines: [12, 13], stake: "1500000000", balance: "3000000", score: 95 },
        ...{ cells: 32, leased_cells: 4, claimable: "0", faults: [] },
        earnings: [{ day: Math.floor(Date.now() / 86_400_000) * 86_400, amount: "3000000" }],
      },
    }),
    machines: () => ({ items: [machine()], total: 1, next: null }),
  });
  const { container } = shown("/provide");
  await userEvent.type(await screen.findByRole("textbox"), account);
  await userEvent.click(screen.getByRole("button", { name: "Show machines and earnings" }));
  expect(await screen.findByText("1/2 of 4 GPUs")).toBeTruthy();
  expect(screen.getByText("1,500.00")).toBeTruthy();
  expect((await screen.findByText("in 30 days", { selector: "p" })).textContent).toBe("3.00 TUSD in 30 days");
  expect(screen.getByRole("link", { name: "Save as CSV" }).getAttribute("href")).toContain(
    `${account}/earnings.csv?days=30`,
  );
  expect(await flaws(container)).toEqual([]);
});

test("an address without a page says so", async () => {
  answering({});
  shown("/nowhere");
  expect(await screen.findByRole("heading", { name: "There is no such page" })).toBeTruthy();
});

test("a machine whose agent does not answer says so, and offers no lease", async () => {
  const silent = { code: "agent-silent", detail: "The agent does not answer;", hint: "try again later." };
  answering({
    "machines/12": () => ({ machine: wholeMachine() }),
    "machines/12/quote": () => ({ quote: QUOTE }),
    "agents/12/v1/machines/12/heartbeat": () => new Refusal(502, silent),
  });
  const { container } = shown("/machines/12");
  expect(await screen.findByText("Its agent does not answer.")).toBeTruthy();
  expect(screen.getByText("Agent does not answer")).toBeTruthy();
  expect(await screen.findByText("0.513071")).toBeTruthy();
  expect(screen.queryByRole("link", { name: /^Rent/ })).toBeNull();
  expect(screen.getByRole("button", { name: "Ask it again" })).toBeTruthy();
  expect(await flaws(container)).toEqual([]);
});

test("a block whose clock goes before the reader's is new, and not still to come", async () => {
  const block = { ...BLOCK, time: Math.floor(Date.now() / 1000) + 90 };
  answering({ pools: () => ({ items: [POOL], total: 1, next: null, block }) });
  shown("/gateway");
  const head = await screen.findByText(/block 149,/);
  expect(head.parentElement?.querySelector("time")?.textContent).toBe("now");
  await screen.findByText("Has read the chain to");
  expect(screen.getAllByRole("time").map((time) => time.textContent)).toEqual(["now", "now"]);
});
