import { ponder } from "ponder:registry";
import { ledger } from "ponder:schema";

ponder.on("Controller:Transferred", async ({ event, context }) => {
  await context.db.insert(ledger).values({
    id: event.id,
    block: event.block.number,
    entry: event.log.logIndex,
    debit: event.args.from,
    credit: event.args.to,
    amount: event.args.amount,
    transaction: event.transaction.hash,
  });
});
