import { useState } from "react";
import type { KeptDataset, KeyBook } from "../../data";
import { formatSize } from "../../format";
import { Copy } from "../../ui/Copy";
import { Facts } from "../../ui/Facts";
import { ProblemView } from "../../ui/ProblemView";
import { Progress } from "../../ui/Progress";
import { State } from "../../ui/State";
import { Time } from "../../ui/Time";
import type { Account } from "../../wallet";
import { useStoring } from "./useStoring";

interface Props {
  readonly account: Account;
  readonly book: KeyBook;
  readonly datasets: readonly KeptDataset[];
}

/** What was sealed here, and what can be done with it. */
export function KeptData({ account, book, datasets }: Props) {
  const { storing, problem, goOn } = useStoring(account);
  return (
    <section className="rows" aria-labelledby="kept">
      <h2 id="kept">What you have</h2>
      {problem && <ProblemView error={problem} />}
      <ul className="kept">
        {datasets.map((dataset) => (
          <li key={dataset.cid} className="panel rows">
            <div className="line apart">
              <h3>{dataset.name || "Data of a key from a file"}</h3>
              <Standing dataset={dataset} />
            </div>
            <Facts
              facts={[
                [
                  "CID",
                  <span key="cid" className="line">
                    <code className="break">{dataset.cid}</code> <Copy text={dataset.cid} what="the CID" />
                  </span>,
                ],
                dataset.size ? ["Sealed", formatSize(dataset.size)] : undefined,
                ["Key here since", <Time key="added" at={dataset.added} past />],
              ]}
            />
            {dataset.state === "sealed" && (
              <div className="line">
                <button
                  type="button"
                  className="button primary"
                  disabled={storing !== null}
                  onClick={() => void goOn(dataset)}
                >
                  Go on sending {dataset.name}
                </button>
              </div>
            )}
            {storing && storing.name === dataset.name && dataset.state === "sealed" && (
              <Progress label={`Sending ${dataset.name}`} done={storing.done} all={storing.all} format={formatSize} />
            )}
            <Forgetting book={book} dataset={dataset} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Standing({ dataset }: { dataset: KeptDataset }) {
  if (dataset.state === "uploaded") return <State is="good">Stored, and its CID compared</State>;
  if (dataset.state === "imported") return <State is="plain">Its key is here</State>;
  return <State is="warning">Sealed, and not sent in full</State>;
}

function Forgetting({ book, dataset }: { book: KeyBook; dataset: KeptDataset }) {
  const [asked, setAsked] = useState(false);
  if (!asked) {
    return (
      <div className="line">
        <button type="button" className="button quiet little" onClick={() => setAsked(true)}>
          Forget its key
        </button>
      </div>
    );
  }
  return (
    <div className="notice warning">
      <p>Without its key nobody opens this data any more, you neither, unless you have saved your keys.</p>
      <div className="line">
        <button type="button" className="button" onClick={() => book.forget(dataset.cid)}>
          Forget the key of {dataset.name || "this data"}
        </button>
        <button type="button" className="button quiet" onClick={() => setAsked(false)}>
          Keep it
        </button>
      </div>
    </div>
  );
}
