import { cleanup, configure } from "@testing-library/react";
import { afterEach, vi } from "vitest";

/* However slow the machine is: what is waited for is an element, not a time. */
configure({ asyncUtilTimeout: 30_000 });

/* What jsdom has not and a browser has. */
HTMLDialogElement.prototype.showModal = function show() {
  this.open = true;
};
HTMLCanvasElement.prototype.getContext = () => null;
window.matchMedia = (query) =>
  ({
    matches: false,
    media: query,
    addEventListener: vi.fn(),
    removeEventListener: vi.fn(),
  }) as unknown as MediaQueryList;
globalThis.ResizeObserver = class {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
};

/* One page serves many files of tests, so each leaves it as it was. */
afterEach(() => {
  cleanup();
  vi.useRealTimers();
  vi.unstubAllGlobals();
  localStorage.clear();
  sessionStorage.clear();
  window.history.replaceState(null, "", "/");
});
