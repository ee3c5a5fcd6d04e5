import { fireEvent, render, screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { LineChart } from "../src/charts/LineChart";
import { pathOf, placed, ticksOf, valuesOf } from "../src/charts/scale";
import { flaws } from "./given/axe";

const DAY = 86_400;
const SERIES = [
  { name: "Least", points: [1, 2, 4].map((value, day) => ({ at: day * DAY, value })) },
  { name: "Most", points: [3, null, 7].map((value, day) => ({ at: day * DAY, value })) },
];

test("an axis ends at a round number, and has round steps", () => {
  expect(valuesOf(SERIES)).toEqual({ from: 0, to: 8 });
  expect(ticksOf({ from: 0, to: 8 })).toEqual([0, 2, 4, 6, 8]);
  expect(valuesOf([])).toEqual({ from: 0, to: 1 });
  expect(placed(5, { from: 5, to: 5 }, 0, 10)).toBe(5);
});

test("a gap breaks a line", () => {
  const same = (value: number): number => value;
  const points = [1, 2, null, 4].map((value, at) => ({ at, value }));
  expect(pathOf(points, same, same)).toBe("M0.0 1.0L1.0 2.0M3.0 4.0");
});

test("a single value is a point", () => {
  const { container } = render(
    <LineChart title="A day" series={[{ name: "Earned", points: [{ at: DAY, value: 3 }] }]} />,
  );
  expect(container.querySelectorAll("circle")).toHaveLength(1);
  expect(container.querySelectorAll(".chart-time")).toHaveLength(1);
});

test("values are read by the keyboard, and stand in a table", async () => {
  const { container } = render(<LineChart title="TUSD per GPU-hour" series={SERIES} />);
  const chart = screen.getByRole("slider", { name: "TUSD per GPU-hour" });
  fireEvent.keyDown(chart, { key: "ArrowLeft" });
  expect(chart.getAttribute("aria-valuetext")).toContain("Least 2, Most unknown");
  fireEvent.keyDown(chart, { key: "ArrowRight" });
  expect(chart.getAttribute("aria-valuetext")).toContain("Least 4, Most 7");
  expect(screen.getAllByRole("row", { hidden: true })).toHaveLength(4);
  expect(await flaws(container)).toEqual([]);
});
