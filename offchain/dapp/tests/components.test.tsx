import { render, screen } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { formatRounded } from "../src/format";
import { BeforeWallet } from "../src/ui/BeforeWallet";
import { Money } from "../src/ui/Money";
import { ProblemView } from "../src/ui/ProblemView";
import { Progress } from "../src/ui/Progress";
import { Stations } from "../src/ui/Stations";
import { Time } from "../src/ui/Time";
import { flaws } from "./given/axe";

test("a lease's line says where it is, what happens now and since when", async () => {
  const { container } = render(
    <Stations at="preparing" since={1_795_538_561} percent={40} now="The image is being fetched.">
      <button type="button">Close and take back all</button>
    </Stations>,
  );
  expect(screen.getAllByRole("listitem").map((item) => item.className)).toEqual([
    "past",
    "present",
    ...Array(4).fill("ahead"),
  ]);
  expect(container.querySelector('[aria-current="step"]')?.textContent).toBe("Preparing 40 %");
  expect(screen.getByRole("status").textContent).toContain("The image is being fetched.");
  expect(await flaws(container)).toEqual([]);
});

test("what began by a clock that goes before the reader's began now", () => {
  render(<Stations at="running" since={Math.floor(Date.now() / 1000) + 60} now="It runs." />);
  expect(screen.getByRole("status").textContent).toBe("It runs. Since now");
});

test("what has happened is never shown as to come, though the page's clock tells five seconds at once", () => {
  vi.useFakeTimers({ now: 1_795_538_564_000 });
  const { container } = render([<Time key="past" at={1_795_538_563} past />, <Time key="ahead" at={1_795_538_570} />]);
  expect([...container.querySelectorAll("time")].map((time) => time.textContent)).toEqual(["now", "in 10 seconds"]);
});

test("an exact amount has two decimals at least, as a rounded one has, and every one that it needs", () => {
  const token = { symbol: "TUSD", decimals: 18 };
  const amounts = [400n * 10n ** 18n, 24n * 10n ** 17n, 298_750_000_000_000_000n];
  render(amounts.map((amount) => <Money key={String(amount)} amount={amount} token={token} places="exact" />));
  const shown = [...document.querySelectorAll("data")].map((money) => money.textContent);
  expect(shown).toEqual(["400.00 TUSD", "2.40 TUSD", "0.29875 TUSD"]);
});

test("all that there is to know stands before the wallet opens", async () => {
  const { container } = render(
    <BeforeWallet
      title="Rent half a GPU of machine 12 for 2 hours"
      gets="Half an H100"
      locks="2.05 TUSD"
      inAll="2.05 TUSD"
      comesBack="what is unused, by the second"
      readers="the machine's owner"
      transactions="one transaction"
    >
      <button type="button">Rent for 2 hours</button>
    </BeforeWallet>,
  );
  expect(screen.getAllByRole("term").map((term) => term.textContent)).toEqual([
    "You get",
    "Locked in escrow",
    "Costs in all",
    "Comes back",
    "Who can read your data",
    "Your wallet asks for",
  ]);
  expect(await flaws(container)).toEqual([]);
});

test("an error of nobody's knowing is told of, too, and its trace is folded", () => {
  render(<ProblemView error={new TypeError("x is not a function")} />);
  expect(screen.getByRole("alert").textContent).toContain("Something went wrong that this page does not know.");
  expect(screen.getByText("x is not a function", { exact: false }).closest("details")?.open).toBe(false);
});

test("progress says its numbers", () => {
  render(<Progress label="Uploading" done={1} all={3} />);
  expect(screen.getByText("1 of 3, 33 %")).toBeTruthy();
});

test.each([
  [2_052_284n, 6, "2.0523"],
  [1_500_000_000n, 6, "1,500.00"],
  [999_999n, 6, "1.00"],
  [49n, 6, "<0.0001"],
  [0n, 6, "0.00"],
  [-2_052_250n, 6, "-2.0523"],
  [5n, 0, "5.00"],
])("%i of %i decimals is %s in a row", (units, decimals, shown) => {
  expect(formatRounded(units, decimals)).toBe(shown);
});
