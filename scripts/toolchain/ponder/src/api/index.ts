import { Hono } from "hono";

// Ponder does not start without one.
export default new Hono();
