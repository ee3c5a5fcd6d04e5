import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";
import { firstLoad } from "./firstLoad";
import { policy } from "./policy";

/** Addresses are relative and routes stand behind the hash, so that the same files serve from a gateway and from IPFS.
 * Nothing is inlined: the gateway's Content-Security-Policy allows no inline script, style or `data:`. */
export default defineConfig({
  base: "./",
  plugins: [react(), policy(), firstLoad({ page: "src/pages/market/Market.tsx", most: 120_000 })],
  build: {
    outDir: "../leasehold/gateway/_dapp",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: { proxy: { "/api": { target: "http://127.0.0.1:8480", ws: true } } },
  test: {
    restoreMocks: true,
    testTimeout: 120_000,
    maxWorkers: "100%", // else one of two processors waits
    isolate: false, // a file's modules and its page serve the next one too: docs/decisions/0353
    // Only what needs a page has one, and is a .tsx.
    projects: [
      { extends: true, test: { name: "plain", environment: "node", include: ["tests/**/*.test.ts"] } },
      {
        extends: true,
        test: {
          name: "pages",
          environment: "./tests/page.ts",
          setupFiles: ["tests/setup.ts"],
          include: ["tests/**/*.test.tsx"],
        },
      },
    ],
  },
});
