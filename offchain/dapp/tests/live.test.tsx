import { beforeEach, expect, test, vi } from "vitest";
import { type Frame, type Link, LiveLink } from "../src/api/liveLink";

/** A WebSocket that does what the test says. */
class Socket {
  static readonly OPEN = 1;
  static made: Socket[] = [];
  readyState = 0;
  readonly sent: unknown[] = [];
  onopen = (): void => {};
  onmessage = (_message: { data: string }): void => {};
  onclose = (): void => {};
  constructor(readonly address: string) {
    Socket.made.push(this);
  }
  open(): void {
    this.readyState = 1;
    this.onopen();
  }
  send(text: string): void {
    this.sent.push(JSON.parse(text));
  }
  close(): void {
    this.onclose();
  }
}

class Events {
  static made: Events[] = [];
  closed = false;
  onopen = (): void => {};
  onmessage = (_message: { data: string }): void => {};
  onerror = (): void => {};
  constructor(readonly address: string) {
    Events.made.push(this);
  }
  close(): void {
    this.closed = true;
  }
}

let told: Frame[];
let links: Link[];
let link: LiveLink;

const last = <Made,>(made: Made[]): Made => made[made.length - 1] as Made;

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("WebSocket", Socket);
  vi.stubGlobal("EventSource", Events);
  Socket.made = [];
  Events.made = [];
  told = [];
  links = [];
  link = new LiveLink({ told: (frame) => void told.push(frame), linked: (state) => void links.push(state) });
  return () => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  };
});

test("what is wanted is asked for once, and given up when nobody wants it", () => {
  link.want(["block", "machines"]);
  const socket = last(Socket.made);
  socket.open();
  link.want(["block", "lease:7"]);
  expect(socket.sent).toEqual([
    { subscribe: ["block", "machines"], unsubscribe: [] },
    { subscribe: ["lease:7"], unsubscribe: ["machines"] },
  ]);
  link.want([]);
  vi.runAllTimers();
  expect(Socket.made).toHaveLength(1);
});

test("news are handed on, and what is none is passed over", () => {
  link.want(["machines"]);
  const socket = last(Socket.made);
  socket.open();
  for (const data of ['{"topic":"machines"}', "not JSON", "null", "7", '{"of":"another version"}']) {
    socket.onmessage({ data });
  }
  expect(told).toEqual([{ topic: "machines" }]);
});

test("a connection that ends is made again, and asks for the same", () => {
  link.want(["machines"]);
  last(Socket.made).open();
  last(Socket.made).close();
  expect(links).toEqual(["live", "waiting"]);
  vi.runAllTimers();
  last(Socket.made).open();
  expect(Socket.made).toHaveLength(2);
  expect(last(Socket.made).sent).toEqual([{ subscribe: ["machines"], unsubscribe: [] }]);
  expect(links).toEqual(["live", "waiting", "live"]);
});

test("where a WebSocket is refused, events are followed; where they are too, it is asked again and again", () => {
  link.want(["machines"]);
  last(Socket.made).close();
  vi.runAllTimers();
  last(Socket.made).close();
  expect(last(Events.made).address).toContain("events?topics=machines");
  last(Events.made).onopen();
  expect(last(links)).toBe("live");
  last(Events.made).onmessage({ data: '{"topic":"machines"}' });
  expect(told).toEqual([{ topic: "machines" }]);
  for (let failure = 0; failure < 4; failure += 1) {
    last(Events.made).onerror();
    vi.runAllTimers();
    last(Socket.made).close();
    vi.runAllTimers();
  }
  expect(links).toContain("polling");
});
