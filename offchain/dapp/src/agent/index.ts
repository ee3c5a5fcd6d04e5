/** Agents, as a tenant's browser asks them: sessions, signed requests, the client, terminals. */
export { AgentClient, checkReceipt, type AgentWay } from "./client";
export type * from "./documents";
export { openTerminal, type Listener, type Terminal } from "./exec";
export { forgetSession, grantSession, keptSession, type Keep, type SessionKey } from "./session";
export { sessionRequest } from "./typed";
