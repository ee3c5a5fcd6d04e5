/** “Tell me when …”: what is sent where, what is shown of it, and that a link which is only opened ends nothing. */
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { MemoryRouter, Route, Routes } from "react-router";
import { beforeEach, expect, test, vi } from "vitest";
import type { ToldPlace } from "../../src/api/alerts";
import { chooseGateway } from "../../src/api/gateway";
import StopPage from "../../src/pages/alerts/StopPage";
import { TellMe } from "../../src/pages/leases/TellMe";
import { flaws } from "../given/axe";
import { pool, STRANGER } from "../groups/given";
import { hands, tenant } from "../purse/given";

const KINDS = ["notice", "end-near", "escrow-low", "outage", "not-started", "started", "ended", "price"];
const PLACE: ToldPlace = {
  id: "a".repeat(22),
  way: "webhook",
  shown: "example.org/…",
  kinds: ["end-near", "notice"],
  before: 3_600,
  confirmed_at: 0,
  sent_at: 0,
  failing: "",
  waiting: 0,
  secret: null,
};

let places: ToldPlace[];
let signedIn: string | null;
let asked: string[];
let sent: { method: string; path: string; body: unknown }[];

beforeEach(() => {
  places = [];
  signedIn = tenant.address;
  sent = [];
  asked = [];
  vi.stubGlobal("fetch", async (address: string, init?: RequestInit) => {
    asked.push(address);
    const path = new URL(address).pathname.replace("/api/v1/", "");
    const method = init?.method ?? "GET";
    if (method !== "GET") sent.push({ method, path, body: init?.body ? JSON.parse(String(init.body)) : null });
    if (path === "alerts" && method === "GET") {
      if (signedIn === null) return Response.json({ code: "not-signed-in", detail: "Nobody" }, { status: 401 });
      return Response.json({
        account: signedIn,
        recipients: places,
        ways: ["webhook", "ntfy", "mail"],
        kinds: KINDS,
        most: 5,
      });
    }
    if (path === "alerts") {
      places = [PLACE];
      return Response.json({ ...PLACE, secret: "s3cret" }, { status: 201 });
    }
    if (path.endsWith("/code")) {
      places = [{ ...PLACE, confirmed_at: 1_795_538_561 }];
      return Response.json(places[0]);
    }
    if (method === "DELETE") places = [];
    return new Response(null, { status: 204 });
  });
});

async function shown(): Promise<HTMLElement> {
  const { chain, sender } = hands();
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const { container } = render(
    <QueryClientProvider client={client}>
      <TellMe account={{ chain, pool, sender }} />
    </QueryClientProvider>,
  );
  await userEvent.click(screen.getByText("Tell me when something happens to them"));
  return container;
}

test("a place is named, a code goes there, and it is told once that was brought", async () => {
  const container = await shown();
  await userEvent.type(await screen.findByLabelText("Its address"), "https://example.org/hook");
  await userEvent.click(screen.getByRole("checkbox", { name: "It has started" }));
  await userEvent.click(screen.getByRole("checkbox", { name: "It is over" }));
  await userEvent.selectOptions(screen.getByLabelText("“Soon” is less than"), "900");
  await userEvent.click(screen.getByRole("button", { name: "Send a code there" }));
  expect(await screen.findByText("Unconfirmed: only a code was sent")).toBeTruthy();
  expect(sent[0]).toEqual({
    method: "POST",
    path: "alerts",
    body: {
      to: { way: "webhook", address: "https://example.org/hook" },
      kinds: ["end-near", "escrow-low", "not-started", "notice", "outage", "started"],
      before: 900,
    },
  });
  expect(screen.getByText("s3cret")).toBeTruthy();
  expect(await flaws(container)).toEqual([]);
  await userEvent.type(screen.getByLabelText("The code that was sent there"), "ABCDE23456");
  await userEvent.click(screen.getByRole("button", { name: "Bring the code" }));
  expect(await screen.findByText("Confirmed")).toBeTruthy();
  expect(screen.getByText(/Nothing has happened yet/)).toBeTruthy();
  expect(sent[1]).toEqual({ method: "POST", path: `alerts/${PLACE.id}/code`, body: { code: "ABCDE23456" } });
});

test("a topic of ntfy is what is needed, and no server", async () => {
  await shown();
  await userEvent.selectOptions(await screen.findByLabelText("Tell me by"), "ntfy");
  const send = screen.getByRole("button", { name: "Send a code there" }) as HTMLButtonElement;
  expect(send.disabled).toBe(true);
  await userEvent.type(screen.getByLabelText("Topic, which you tell nobody"), "ada-x7k2");
  await userEvent.click(send);
  await waitFor(() => expect(sent).toHaveLength(1));
  expect(sent[0]?.body).toMatchObject({ to: { way: "ntfy", address: "", topic: "ada-x7k2" } });
});

test("what takes nothing says why, and is removed", async () => {
  places = [
    {
      ...PLACE,
      confirmed_at: 1,
      sent_at: 1_795_538_561,
      failing: "webhook did not take the alert: it answered 503",
      waiting: 2,
    },
  ];
  const container = await shown();
  expect(await screen.findByText("Failing")).toBeTruthy();
  expect(container.textContent).toContain("It takes nothing: webhook did not take the alert: it answered 503.");
  expect(container.textContent).toContain("2 still to be told");
  expect(await flaws(container)).toEqual([]);
  await userEvent.click(screen.getByRole("button", { name: "Send nothing more to example.org/…" }));
  await waitFor(() => expect(screen.queryByText("Failing")).toBeNull());
  expect(sent).toEqual([{ method: "DELETE", path: `alerts/${PLACE.id}`, body: null }]);
});

test.each([null, STRANGER])("who is not signed in (%s) sees nobody's places", async (account) => {
  signedIn = account;
  places = [PLACE];
  const container = await shown();
  expect(await screen.findByRole("button", { name: "Sign in to say where" })).toBeTruthy();
  expect(within(container).queryByText("example.org/…")).toBeNull();
});

test.each([null, "https://elsewhere.example/", "none"])(
  "a link that is opened ends nothing; its button does, at who served it, where %s was chosen",
  async (chosen) => {
    chooseGateway(chosen);
    render(
      <MemoryRouter initialEntries={["/alerts/stop/t0ken"]}>
        <Routes>
          <Route path="/alerts/stop/:token" element={<StopPage />} />
        </Routes>
      </MemoryRouter>,
    );
    const stop = await screen.findByRole("button", { name: "Send nothing more there" });
    expect(sent).toEqual([]);
    await userEvent.click(stop);
    expect(await screen.findByText("Nothing more is sent there")).toBeTruthy();
    expect(sent).toEqual([{ method: "POST", path: "alerts/stop/t0ken", body: null }]);
    expect(asked).toEqual(["http://localhost:3000/api/v1/alerts/stop/t0ken"]);
    chooseGateway(null);
  },
);
