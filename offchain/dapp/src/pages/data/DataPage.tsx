import { Page } from "../../app/Page";
import { Empty } from "../../ui/Empty";
import { type Account, WithWallet } from "../../wallet";
import { DropZone } from "./DropZone";
import { KeptData } from "./KeptData";
import { Keys } from "./Keys";
import { useKeyBook } from "./useKeyBook";
import "./data.css";

/** Data for leases: sealed here, kept by the gateway, opened by the machine that is given its key. */
export default function DataPage() {
  return (
    <Page title="Your data" command="leasehold dataset add FOLDER">
      <WithWallet why="Keys are kept for an account: connect the wallet whose leases read the data.">
        {(account) => <Data account={account} />}
      </WithWallet>
    </Page>
  );
}

function Data({ account }: { account: Account }) {
  const [book, kept] = useKeyBook(account.sender.account);
  return (
    <>
      <section className="panel rows" aria-labelledby="adding">
        <h2 id="adding">Add data</h2>
        <DropZone account={account} />
        <p className="small soft">
          The gateway keeps the sealed bytes for thirty days. Whoever rents with them hands their key, sealed, to the
          one machine that reads them; the owner of that machine can read what is opened on it.
        </p>
      </section>
      {kept.datasets.length === 0 ? (
        <Empty says="This browser knows no data of this account yet: drop some above, or take your keys from a file." />
      ) : (
        <KeptData account={account} book={book} datasets={kept.datasets} />
      )}
      <Keys book={book} kept={kept} />
    </>
  );
}
