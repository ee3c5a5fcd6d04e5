import { builtinEnvironments, type Environment } from "vitest/environments";

/* A page in jsdom takes a second of a processor to make: a process has one, for all files of tests that it runs. Each
 * leaves it as it was (`setup.ts`). */
let page: ReturnType<typeof builtinEnvironments.jsdom.setup> | undefined;

export default {
  name: "page",
  transformMode: "web",
  async setup(global, options) {
    page ??= builtinEnvironments.jsdom.setup(global, options);
    await page;
    return { teardown() {} };
  },
} satisfies Environment;
