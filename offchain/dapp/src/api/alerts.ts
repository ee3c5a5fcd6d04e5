/** Who is told of his leases by the gateway, and where: for the account that is signed in there. */
import { gateway } from "./gateway";

export type AlertWay = "webhook" | "ntfy" | "mail";

/** One place. `shown`: as much of it as its account knows it by. Unix seconds; 0: never. */
export interface ToldPlace {
  readonly id: string;
  readonly way: AlertWay;
  readonly shown: string;
  readonly kinds: readonly string[];
  readonly before: number;
  readonly confirmed_at: number;
  readonly sent_at: number;
  /** Why it takes nothing, if so. */
  readonly failing: string;
  readonly waiting: number;
  /** Signs what a webhook gets; said once, when it is added. */
  readonly secret: string | null;
}

export interface ToldPlaces {
  readonly account: string;
  readonly recipients: readonly ToldPlace[];
  readonly ways: readonly AlertWay[];
  readonly kinds: readonly string[];
  readonly most: number;
}

/** Of what, and how long before its end a lease is near it, in seconds. */
export interface AlertWish {
  readonly kinds: readonly string[];
  readonly before: number;
}

export interface NewPlace extends AlertWish {
  readonly to: { readonly way: AlertWay; readonly address: string; readonly topic?: string; readonly token?: string };
}

const one = (id: string): string => `alerts/${encodeURIComponent(id)}`;

export const alerts = {
  list: (signal?: AbortSignal): Promise<ToldPlaces> => gateway.get<ToldPlaces>("alerts", {}, signal),
  /** Has a code sent there. */
  add: (place: NewPlace): Promise<ToldPlace> => gateway.post<ToldPlace>("alerts", place),
  /** Brings that code. */
  confirm: (id: string, code: string): Promise<ToldPlace> => gateway.post<ToldPlace>(`${one(id)}/code`, { code }),
  remove: async (id: string): Promise<void> => void (await gateway.send("DELETE", one(id))),
  /** For whoever has the link of a message that came there: it leads to the gateway that sent it. */
  stop: (token: string): Promise<void> => gateway.sendHome("POST", `alerts/stop/${encodeURIComponent(token)}`),
};
