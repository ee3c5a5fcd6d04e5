/** Agents, as a tenant's browser asks them: sessions, signed requests, the client, terminals. */
export { AgentClient, type AgentWay, checkReceipt } from "./client";
export type * from "./documents";
export { type Listener, openTerminal, type Terminal } from "./exec";
export { filesIn, fileThere, putFile, type There } from "./files";
export { forgetSessions, grantSession, type Keep, keptSession, OPS, type SessionKey } from "./session";
export { type Session, sessionRequest, toJson } from "./typed";
