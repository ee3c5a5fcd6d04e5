import { ROUTES } from "./routes";

/** Somewhere that the palette goes. */
export interface Destination {
  readonly title: string;
  readonly to: string;
}

/** What the palette offers for what was typed: pages by their words, then the machine of that number, then a search. */
export function destinations(typed: string): Destination[] {
  const text = typed.trim();
  const words = text.toLowerCase().split(/\s+/);
  const pages = ROUTES.filter((route) => !route.path.includes(":"))
    .map((route) => ({ title: route.title, to: route.path, words: `${route.title} ${route.nav ?? ""}`.toLowerCase() }))
    .filter((page) => words.every((word) => page.words.includes(word)))
    .map(({ title, to }) => ({ title, to }));
  if (text === "") return pages;
  const machine = /^#?(\d{1,9})$/.exec(text)?.[1];
  if (machine !== undefined) pages.push({ title: `Machine ${machine}`, to: `/machines/${machine}` });
  if (/^0x[0-9a-fA-F]{40}$/.test(text)) pages.push({ title: `Provider ${text}`, to: `/providers/${text}` });
  return [...pages, { title: `Search machines: ${text}`, to: `/?${new URLSearchParams({ q: text })}` }];
}
