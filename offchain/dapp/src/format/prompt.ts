/** Commands that a page says to type. Whoever made the link to the page wrote what is put into them. */

const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * A command as it is typed: prompt`leasehold show ${lease}`. What is put in is one word each, or several where it is a
 * list, whatever a shell would make of it; without what nobody sees, which steers a terminal or ends a line in it.
 */
export function prompt(parts: TemplateStringsArray, ...given: readonly (string | readonly string[])[]): string {
  return String.raw(parts, ...given.map((words) => [words].flat().map(quoted).join(" ")));
}

/** A word as a shell takes it, in quotes only where it needs them. */
export function quoted(text: string): string {
  const word = text.replace(UNSEEN, "");
  return /^[\w@%+:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
