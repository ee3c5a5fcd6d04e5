import axe from "axe-core";

/** What axe finds wrong in a part of the page. Contrast is looked at in a browser: here nothing has a colour. */
export async function flaws(element: Element): Promise<string[]> {
  const found = await axe.run(element, { rules: { "color-contrast": { enabled: false } } });
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`);
}
