/** A lease's machine is called by its name, where its documents are here, and always by its number. */
import { render } from "@testing-library/react";
import { MemoryRouter } from "react-router";
import { expect, test } from "vitest";
import type { MachineItem } from "../../src/api/machines";
import { LeasedShare } from "../../src/pages/leases/LeasedShare";
import { perOf, unitOf } from "../../src/pages/market/words";
import { machine } from "../given/machines";

function words(listed: MachineItem | undefined, linked = false): string | null {
  const { container } = render(
    <MemoryRouter>
      <LeasedShare cells={16} number={12} machine={listed} linked={linked} />
    </MemoryRouter>,
  );
  if (linked) expect(container.querySelector("a")?.getAttribute("href")).toBe("/machines/12");
  return container.textContent;
}

test("the machine's name comes first, and its number stays", () => {
  expect(words(machine())).toBe("2 of 2 × NVIDIA H100 80GB HBM3, machine 12");
  expect(words(machine({ kind: "cpu", gpus: 1 }), true)).toBe("2 of AMD EPYC 9454, machine 12");
  expect(words(undefined)).toBe("2 of machine 12");
  expect(words(machine({ kind: null, gpu: null, cpu: null }), true)).toBe("2 of machine 12");
});

test("a host without cards sells CPU units, and of a machine without documents nobody knows", () => {
  expect([perOf("gpu"), perOf("cpu"), perOf(null), unitOf(undefined)]).toEqual([
    "GPU-hour",
    "CPU unit-hour",
    "unit-hour",
    "unit",
  ]);
});
