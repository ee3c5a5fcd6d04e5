import { cleanup } from "@testing-library/react";
import { afterEach, vi } from "vitest";

/* What jsdom has not and a browser has. */
HTMLDialogElement.prototype.showModal = function show() {
  this.open = true;
};
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

afterEach(() => {
  cleanup();
  localStorage.clear();
  window.location.hash = "";
});
