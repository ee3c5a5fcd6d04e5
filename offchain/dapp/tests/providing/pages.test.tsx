/** Pages of providers and validators: what they show, and that a screen reader can read it. */
import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { invoiceCsv, invoicesOf, readMovements } from "../../src/pages/provide/invoices";
import { draftOf, isRead, readDraft } from "../../src/pages/provide/termsDraft";
import { dailyUse, meanUse } from "../../src/pages/provide/usage";
import { recordOf } from "../../src/pages/validators/record";
import { flaws } from "../given/axe";
import { answering, shown } from "../given/gateway";
import { machine as item } from "../given/machines";
import { ME, machine, NOW, POOL, UNIT } from "./chain";

const DAY = 86_400;
const money = { symbol: "=TUSD", decimals: 6 };
const CSV = [
  "time,kind,amount,token,lease,machine,transaction",
  "2026-10-31T23:59:59Z,earn,1.5,TUSD,7,12,0xaa",
  "2026-11-01T00:00:00Z,earn,2.25,TUSD,7,12,0xab",
  "2026-11-02T00:00:00Z,earn,1,TUSD,12.1,13,0xac",
  "2026-11-03T00:00:00Z,penalty,-0.25,TUSD,7,12,0xad",
  "",
].join("\r\n");

test("movements are summed to the unit by month and by lease", () => {
  const [november, october] = invoicesOf(readMovements(CSV, money));
  expect(november).toMatchObject({ month: "2026-11", amount: 3_000_000n });
  expect(november?.lines.map(({ lease, movements, amount }) => [lease, movements, amount])).toEqual([
    ["7", 2, 2_000_000n],
    ["12.1", 1, 1_000_000n],
  ]);
  expect(october).toMatchObject({ month: "2026-10", amount: 1_500_000n });
});

test("a table to keep begins no formula, and has a line for each lease of each month", () => {
  expect(invoiceCsv(invoicesOf(readMovements(CSV, money)).slice(0, 1), money)).toBe(
    'month,lease,machine,movements,amount,token\r\n2026-11,7,12,2,2,"TUSD"\r\n2026-11,12.1,13,1,1,"TUSD"\r\n',
  );
});

test.each(["<html>", CSV.replace("1.5", "=1+1"), CSV.replace(",7,", ",=7,"), CSV.replace("2026-10-31", "yesterday")])(
  "what is no list of movements makes no invoice",
  (text) => expect(() => readMovements(text, money)).toThrow("cannot be read"),
);

test("terms as typed are the terms as read, and what cannot be read is named", () => {
  const { terms } = machine();
  expect(readDraft(draftOf(terms, 6), 6)).toEqual(terms);
  const odd = { ...draftOf(terms, 6), price: "1.0000001", trial: "soon", until: "2027-02-30" };
  const read = readDraft(odd, 6);
  expect(isRead(read) ? [] : read).toEqual(["price", "trial", "until"]);
});

test("use counts what ran of each day, and of today what has passed", () => {
  const ran = { id: "1", machine: 7, tenant: ME, state: "active", cells: 8, paid: "0" };
  const now = 20_000 * DAY + DAY / 2;
  const use = dailyUse([{ ...ran, start: now - DAY, end: now + DAY }], 16, 2, now);
  expect(use.map(({ percent }) => percent)).toEqual([25, 50]);
  expect(meanUse(use)).toBe(37.5);
  expect(dailyUse([{ ...ran, state: "cancelled", start: 0, end: now }], 16, 1, now)[0]?.percent).toBe(0);
});

const ROUND = {
  ...{ round: 3, machine: 12, revision: 1, requester: ME, state: "passed", requested_at: NOW, fee: "1", seats: [1, 2] },
  ...{ commit_until: null, reveal_until: null, score: 800, agreed: 2 },
};

test("a seat's record says what it showed, and claims nothing of what has not come", () => {
  const said = (votes: Parameters<typeof recordOf>[2]) => recordOf(1, [ROUND], votes)[0]?.said;
  expect(said(new Map())).toBe("…");
  expect(said(new Map([[3, []]]))).toBe("nothing");
  const vote = { seat: 1, revealed: false, passed: null, score: null };
  expect(said(new Map([[3, [vote]]]))).toBe("committed, and never shown");
  expect(said(new Map([[3, [{ ...vote, revealed: true, passed: true }]]]))).toBe("it is what it says it is");
});

test("validators have a page each, and each page can be read", async () => {
  const seat = { seat: 1, validator: ME, stake: "50000000", level: "50000000", joined_at: NOW, leaves_at: null };
  const asked = answering({
    machines: () => ({ items: [item()], total: 1, next: null }),
    validators: () => ({ items: [{ ...seat, exited: false }], total: 1, next: null }),
    rounds: () => ({ items: [ROUND], total: 1, next: null }),
    "rounds/3": () => ({ round: { ...ROUND, votes: [{ seat: 1, revealed: true, passed: true, score: 810 }] } }),
  });
  const { container } = shown("/validators");
  await userEvent.click(await screen.findByRole("link", { name: "Seat 1" }));
  expect(await screen.findByText("It is what it says it is")).toBeTruthy();
  expect((await screen.findByRole("link", { name: "2 × NVIDIA H100 80GB HBM3" })).getAttribute("href")).toBe(
    "#/machines/12",
  );
  expect(asked.filter((path) => path.startsWith("machines?q=id"))).toEqual(["machines?q=id%3A12&limit=50"]);
  expect(await flaws(container)).toEqual([]);
});

test("anybody sees a provider's faults with their deadlines, use and invoices; nobody is offered to appeal", async () => {
  const fault = { fault: 4, machine: 12, kind: "attested", state: "filed", from: NOW, to: NOW + 60, filed_at: NOW };
  answering({
    [`providers/${ME}`]: () => ({
      provider: {
        ...{ provider: ME, machines: [12], stake: "1", balance: "0", score: null, cells: 16, leased_cells: 0 },
        ...{ claimable: "0", earnings: [] },
        faults: [{ ...fault, deadline: NOW + 3_600, amount: String(UNIT), to_tenants: "0", compensated: "0" }],
      },
    }),
    machines: () => ({ items: [item()], total: 1, next: null }),
  });
  const { container } = shown(`/providers/${ME}`);
  expect(await screen.findByText(/the time to appeal ends/)).toBeTruthy();
  expect(await screen.findByText(/% leased in 30 days/)).toBeTruthy();
  expect(screen.queryByRole("button", { name: /Appeal/ })).toBeNull();
  expect(screen.queryByRole("link", { name: /Manage/ })).toBeNull();
  expect(await flaws(container)).toEqual([]);
});

test("the pool says how a score comes about and what faults took", async () => {
  answering({ faults: () => ({ items: [], total: 0, next: null }) });
  const { container } = shown("/pool");
  expect(await screen.findByText(/score = 1000 · fees/)).toBeTruthy();
  expect(await screen.findByText("No machine was ever at fault.")).toBeTruthy();
  expect(POOL.money.decimals).toBe(6);
  expect(await flaws(container)).toEqual([]);
});
