/** How values are written for people. Knows nothing of pages, chain or gateway. */
export * from "./amounts";
export * from "./names";
export * from "./prompt";
export * from "./shares";
export * from "./times";
