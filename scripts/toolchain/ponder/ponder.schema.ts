import { onchainTable } from "ponder";

// Less than our own row has: no balances after it, and no index by account.
export const ledger = onchainTable("ledger", (t) => ({
  id: t.text().primaryKey(),
  block: t.bigint().notNull(),
  entry: t.integer().notNull(),
  debit: t.hex().notNull(),
  credit: t.hex().notNull(),
  amount: t.bigint().notNull(),
  transaction: t.hex().notNull(),
}));
