import { gateway, isAlone } from "./gateway";
import type { Block } from "./types";

/** What the gateway tells: that something of a topic changed, and the block since which it is so. */
export interface Frame {
  readonly topic: string;
  readonly block?: Block | null;
}

/** `live`: news come by themselves. `waiting`: a connection is being made. `polling`: neither way in works, ask again. */
export type Link = "live" | "waiting" | "polling";

interface Listener {
  /** Something of a topic changed. */
  told(frame: Frame): void;
  /** The connection is there, or gone. Whoever is connected anew may have missed something. */
  linked(link: Link): void;
}

const SHORTEST = 500;
const LONGEST = 30_000;

/** One connection for the whole app: by WebSocket, where that is refused by server-sent events, and in between attempts by
 * nothing. Which topics are wanted may change at any time. */
export class LiveLink {
  private topics: readonly string[] = [];
  /** Those that the open socket was told of. */
  private heard: readonly string[] = [];
  private socket: WebSocket | undefined;
  private events: EventSource | undefined;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private failures = 0;

  constructor(private readonly listener: Listener) {}

  /** Wants news of these topics and no others; of none, the connection ends. */
  want(topics: readonly string[]): void {
    if (topics.join() === this.topics.join()) return;
    this.topics = topics;
    if (topics.length === 0) this.end();
    else if (this.socket?.readyState === WebSocket.OPEN) this.subscribe(this.socket);
    else if (this.events !== undefined) this.follow();
    else if (this.socket === undefined && this.retry === undefined) this.connect();
  }

  end(): void {
    clearTimeout(this.retry);
    this.retry = undefined;
    const socket = this.socket;
    this.socket = undefined;
    socket?.close();
    this.events?.close();
    this.events = undefined;
  }

  private connect(): void {
    if (isAlone()) {
      this.listener.linked("polling");
      return;
    }
    const socket = new WebSocket(gateway.socket("live"));
    this.socket = socket;
    socket.onopen = () => {
      this.failures = 0;
      this.heard = [];
      this.subscribe(socket);
      this.listener.linked("live");
    };
    socket.onmessage = (message) => this.hear(message.data);
    socket.onclose = () => {
      if (this.socket !== socket) return;
      this.socket = undefined;
      this.failures += 1;
      if (this.failures > 1) this.follow();
      else this.later();
    };
  }

  private subscribe(socket: WebSocket): void {
    const { topics, heard } = this;
    const subscribe = topics.filter((topic) => !heard.includes(topic));
    const unsubscribe = heard.filter((topic) => !topics.includes(topic));
    socket.send(JSON.stringify({ subscribe, unsubscribe }));
    this.heard = topics;
  }

  /** By server-sent events, which pass where a WebSocket does not. */
  private follow(): void {
    this.events?.close();
    const events = new EventSource(gateway.url("events", { topics: this.topics.join(",") }));
    this.events = events;
    events.onopen = () => {
      this.failures = 0;
      this.listener.linked("live");
    };
    events.onmessage = (message) => this.hear(message.data);
    events.onerror = () => {
      events.close();
      if (this.events !== events) return;
      this.events = undefined;
      this.failures += 1;
      this.later();
    };
  }

  private later(): void {
    this.listener.linked(this.failures > 2 ? "polling" : "waiting");
    const span = Math.min(LONGEST, SHORTEST * 2 ** this.failures);
    this.retry = setTimeout(
      () => {
        this.retry = undefined;
        this.connect();
      },
      span * (0.5 + Math.random() / 2),
    );
  }

  private hear(data: unknown): void {
    const frame = frameOf(data);
    if (frame !== undefined) this.listener.told(frame);
  }
}

/** A frame, or nothing where it is none: a gateway of another version may say more than this app knows. */
function frameOf(data: unknown): Frame | undefined {
  try {
    const frame: unknown = JSON.parse(String(data));
    return typeof frame === "object" && frame !== null && "topic" in frame ? (frame as Frame) : undefined;
  } catch {
    return undefined;
  }
}
