import { Problem } from "../problem";

/** The search language of docs/reference/query.md, as far as buttons write it: terms in a text, put in and taken out.
 * What a term means, the gateway alone says. */

/** The terms of a search, in order; a blank within double quotes separates none. */
export function termsOf(search: string): string[] {
  return search.match(/(?:"(?:\\.|[^"\\])*"?|[^\s"])+/g) ?? [];
}

/** Whether the search has this very term. */
export function hasTerm(search: string, term: string): boolean {
  return termsOf(search).some((written) => same(written, term));
}

/** The search with the term at its end, or without it where it is there. */
export function toggleTerm(search: string, term: string): string {
  const terms = termsOf(search);
  const rest = terms.filter((written) => !same(written, term));
  return (rest.length === terms.length ? [...terms, term] : rest).join(" ");
}

/** The refusal of a search that names the column of what is wrong in it; `undefined` for any other error. */
export function wrongIn(error: Error | null): Problem | undefined {
  return error instanceof Problem && columnOf(error.message) !== undefined ? error : undefined;
}

/** The column, from 1, that an error of the language names; `undefined` where it names none. */
export function columnOf(sentence: string): number | undefined {
  const column = /^Column (\d+) of the search:/.exec(sentence)?.[1];
  return column === undefined ? undefined : Number(column);
}

function same(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
