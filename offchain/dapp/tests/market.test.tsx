import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { flaws } from "./given/axe";
import { answering, Refusal, shown } from "./given/gateway";
import { machine } from "./given/machines";
import { POOL } from "./given/pool";

const two = () => ({
  items: [machine(), machine({ id: 13, gpu: "NVIDIA L4", price: "310000" })],
  total: 2,
  next: null,
});

test("machines are shown with price, state and how well they have done", async () => {
  answering({ machines: two });
  const { container } = shown("/");
  const row = (await screen.findByRole("link", { name: "2 × NVIDIA H100 80GB HBM3" })).closest("tr");
  const cells = within(row as HTMLElement);
  expect(cells.getByText("2.0523", { exact: false }).getAttribute("title")).toBe("2.052284 TUSD");
  expect(cells.getByText("Free")).toBeTruthy();
  expect(cells.getByText("1 1/2 of 2")).toBeTruthy();
  expect(cells.getByText("4.8 by 12")).toBeTruthy();
  expect(screen.getByText("2 machines")).toBeTruthy();
  expect(await flaws(container)).toEqual([]);
});

test("a quick filter is a term of the search, which the address keeps and the prompt repeats", async () => {
  const asked = answering({ machines: two });
  shown("/?q=gpu%3AH100");
  await userEvent.click(await screen.findByRole("button", { name: "80 GB and more" }));
  await waitFor(() => expect(asked).toContain("machines?q=gpu%3AH100+mem%3E%3D80&sort=price&limit=50"));
  expect(new URLSearchParams(window.location.hash.split("?")[1]).get("q")).toBe("gpu:H100 mem>=80");
  expect(screen.getByText("leasehold machines gpu:H100 'mem>=80'")).toBeTruthy();
  await userEvent.click(screen.getByRole("button", { name: "80 GB and more" }));
  await waitFor(() => expect(window.location.hash).toBe("#/?q=gpu%3AH100"));
});

test("what is typed is searched, and a mistake is marked at its column", async () => {
  const detail = "Column 10 of the search: unknown field 'memm'; did you mean 'mem'?";
  answering({
    machines: (query) =>
      query.get("q") === "gpu:H100 memm>=80" ? new Refusal(400, { code: "query", detail, hint: "" }) : two(),
  });
  shown("/");
  const box = await screen.findByRole("searchbox", { name: "Search" });
  await userEvent.type(box, "gpu:H100 memm>=80");
  expect(await screen.findByText(detail)).toBeTruthy();
  expect(box.getAttribute("aria-invalid")).toBe("true");
  expect(document.querySelector(".wrong-at pre")?.textContent).toBe(`gpu:H100 memm>=80\n${" ".repeat(9)}▲`);
});

test("a head sorts, and sorts the other way when it is pressed again", async () => {
  const asked = answering({ machines: two });
  shown("/");
  await userEvent.click(await screen.findByRole("button", { name: "Score" }));
  await waitFor(() => expect(asked.at(-1)).toContain("sort=-score"));
  await userEvent.click(await screen.findByRole("button", { name: "Score" }));
  await waitFor(() => expect(asked.at(-1)).toContain("sort=score"));
  expect(screen.getByRole("columnheader", { name: "Score" }).getAttribute("aria-sort")).toBe("ascending");
});

test("chosen machines are compared, and what is best says so", async () => {
  answering({
    machines: two,
    "machines/12": () => ({ machine: machine() }),
    "machines/13": () => ({ machine: machine({ id: 13, price: "310000" }) }),
  });
  shown("/");
  for (const box of await screen.findAllByRole("checkbox")) await userEvent.click(box);
  await userEvent.click(screen.getByRole("link", { name: "Compare 2 machines" }));
  const price = (await screen.findByRole("rowheader", { name: "Price per GPU-hour" })).closest("tr") as HTMLElement;
  expect(within(price).getByText("0.31 TUSD", { exact: false }).textContent).toBe("0.31 TUSDbest");
  expect(within(price).getByText("2.052284 TUSD").textContent).toBe("2.052284 TUSD");
});

test("a phone compares four machines without scrolling sideways: a row's name stands above its values", async () => {
  onPhone();
  const numbers = [12, 13, 14, 15];
  answering(
    Object.fromEntries(
      numbers.map((id) => [
        `machines/${id}`,
        () => ({ machine: machine({ id, price: `${id}00000`, spot_price: null }) }),
      ]),
    ),
  );
  const { container } = shown(`/compare?machines=${numbers.join()}`);
  const name = await screen.findByRole("rowheader", { name: "Price per GPU-hour" });
  expect(name.getAttribute("colspan")).toBe("4");
  const values = (name.closest("tbody") as HTMLElement).querySelectorAll("td");
  await waitFor(() =>
    expect([...values].map((value) => value.textContent)).toEqual([
      "1.20 TUSDbest",
      "1.30 TUSD",
      "1.40 TUSD",
      "1.50 TUSD",
    ]),
  );
  expect(screen.getAllByRole("columnheader")).toHaveLength(4);
  expect(await flaws(container)).toEqual([]);
});

test("a host without cards has its unit at each price that is compared", async () => {
  answering({
    "machines/12": () => ({ machine: machine({ kind: "cpu", gpu: null, price: "60000", spot_price: "20000" }) }),
  });
  shown("/compare?machines=12");
  expect(await screen.findByText("0.06 TUSD / CPU unit-hour")).toBeTruthy();
  expect(screen.getByText("0.02 TUSD / CPU unit-hour")).toBeTruthy();
});

test("a gateway that does not answer is told of, with what to do and a way to try again", async () => {
  answering({
    machines: () =>
      new Refusal(503, {
        code: "not-ready",
        detail: "The gateway has not read the chain yet: try again.",
        hint: "try again.",
      }),
  });
  const { container } = shown("/");
  const alert = await screen.findByRole("alert");
  expect(within(alert).getByRole("heading").textContent).toBe("The gateway has not read the chain yet.");
  expect(within(alert).getByText("Try again.")).toBeTruthy();
  expect(within(alert).getByRole("button", { name: "Try again" })).toBeTruthy();
  expect(await flaws(container)).toEqual([]);
});

test("a search that finds nothing offers all machines again", async () => {
  answering({
    machines: (query) => (query.get("q") === "" || !query.has("q") ? two() : { items: [], total: 0, next: null }),
  });
  shown("/?q=gpu%3Anone");
  await userEvent.click(await screen.findByRole("button", { name: "Show all machines" }));
  expect(await screen.findByText("2 machines")).toBeTruthy();
});

const many = (count: number) => () => ({
  items: Array.from({ length: count }, (_, place) => machine({ id: place + 1 })),
  total: count,
  next: null,
});

/** The window is a phone's. */
function onPhone(): void {
  vi.spyOn(window, "matchMedia").mockImplementation(
    (media) =>
      ({ media, matches: media.includes("max-width"), addEventListener() {}, removeEventListener() {} }) as never,
  );
}

test("a phone's list is made by and by, says so, and is whole in its order soon", async () => {
  onPhone();
  answering({ machines: many(10) });
  const { container } = shown("/");
  const list = await screen.findByRole("list", { name: "Machines" });
  expect(list.children.length).toBeLessThan(10);
  expect(list.getAttribute("aria-busy")).toBe("true");
  await waitFor(() => expect(list.getAttribute("aria-busy")).toBe("false"));
  const numbers = within(list)
    .getAllByRole("link")
    .map((link) => link.getAttribute("href"));
  expect(numbers).toEqual(Array.from({ length: 10 }, (_, place) => `#/machines/${place + 1}`));
  expect(await flaws(container)).toEqual([]);
});

test("a list waits for its prices' token, and not for long", async () => {
  let say: (pool: object) => void = () => {};
  answering({ machines: two, pools: () => new Promise((resolve) => (say = resolve)) });
  shown("/");
  expect(await screen.findByText("2 machines")).toBeTruthy();
  expect(screen.queryByRole("table")).toBeNull();
  expect(await screen.findAllByText("…")).toHaveLength(2);
  say({ items: [POOL], total: 1, next: null });
  expect(await screen.findByText("0.31", { exact: false })).toBeTruthy();
});
