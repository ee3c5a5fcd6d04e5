import type { Member, OpenedOutput, Output } from "../../data";
import { formatSize } from "../../format";
import { cidOfBytes } from "../../sealing";
import { Empty } from "../../ui/Empty";
import { ProblemView } from "../../ui/ProblemView";
import { Progress } from "../../ui/Progress";
import { Skeleton } from "../../ui/Skeleton";
import { State } from "../../ui/State";
import { save } from "../../ui/save";
import type { Account } from "../../wallet";
import { type LeaseNow, useLeaseEvents } from "./useLeaseOnChain";
import { useResults } from "./useResults";

/** What the lease left behind, by the CID that the chain names. */
export default function ResultsPart({ account, now: { lease } }: { account: Account; now: LeaseNow }) {
  const events = useLeaseEvents(account, lease.id, lease.state);
  if (events.error) return <ProblemView error={events.error} onRetry={() => void events.refetch()} />;
  if (!events.data) return <Skeleton rows={3} />;
  const published = events.data.filter((event) => event.eventName === "ResultPublished").at(-1);
  if (published?.eventName !== "ResultPublished") {
    return (
      <Empty says="Nothing has been published yet: what comes back is packed when the job's command ends, or the lease does.">
        <button type="button" className="button" onClick={() => void events.refetch()}>
          Look again
        </button>
      </Empty>
    );
  }
  const cid = cidOfBytes(published.args.cid);
  return <Published key={cid} account={account} lease={lease.id} cid={cid} />;
}

function Published({ account, lease, cid }: { account: Account; lease: bigint; cid: string }) {
  const { results, opened, coming, busy, problem, list, open } = useResults(account, lease, cid);
  return (
    <section className="panel rows" aria-label="Results">
      <h2>Results</h2>
      <p className="small soft">
        The chain names them as <code className="break">{cid}</code>. The gateway fetches their blocks, and each is
        compared with that name here; what is sealed is opened in this browser alone.
      </p>
      {results === null && (
        <div className="line">
          <button type="button" className="button primary" disabled={busy} onClick={() => void list()}>
            Fetch the results
          </button>
        </div>
      )}
      {results?.outputs.length === 0 && <p>The workload named nothing that comes back.</p>}
      {results?.outputs.map((output) => (
        <OneOutput
          key={output.path}
          output={output}
          opened={opened.get(output.path)}
          busy={busy}
          onOpen={() => void open(output)}
        />
      ))}
      {coming && <Progress label={`Fetching ${coming.path}`} done={coming.done} all={coming.all} format={formatSize} />}
      {problem && <ProblemView error={problem} onRetry={results ? undefined : () => void list()} />}
    </section>
  );
}

interface OutputProps {
  readonly output: Output;
  readonly opened: OpenedOutput | undefined;
  readonly busy: boolean;
  readonly onOpen: () => void;
}

function OneOutput({ output, opened, busy, onOpen }: OutputProps) {
  return (
    <section className="rows output" aria-label={output.path}>
      <div className="line apart">
        <h3 className="mono break">{output.path}</h3>
        {output.name === null ? (
          <State is="warning">It never was there</State>
        ) : (
          <span className="small soft">
            {formatSize(output.size)}, {output.public ? "open to all" : "sealed"}
          </span>
        )}
      </div>
      {output.skipped > 0 && (
        <p className="small">
          {output.skipped} of its entries could not travel: links that lead out of it, devices, names that are not
          UTF-8.
        </p>
      )}
      {output.name !== null && !opened && (
        <div className="line">
          <button type="button" className="button" disabled={busy} onClick={onOpen}>
            Open {output.path}
          </button>
        </div>
      )}
      {opened && <Opened output={output} opened={opened} />}
    </section>
  );
}

const MOST_SHOWN = 500;

function Opened({ output, opened: { archive, files } }: { output: Output; opened: OpenedOutput }) {
  const shown = files.slice(0, MOST_SHOWN);
  const name = output.path.split("/").at(-1) ?? "results";
  return (
    <>
      <ul className="files">
        {shown.map((file) => (
          <li key={`${file.offset}`} className="line apart">
            <span className="mono break">{file.path}</span>
            <span className="line">
              <span className="small soft numbers">{formatSize(file.size)}</span>
              <button
                type="button"
                className="button little"
                onClick={() => save(bytesOf(archive, file), nameOf(file))}
              >
                Save <span className="unseen">{file.path}</span>
              </button>
            </span>
          </li>
        ))}
      </ul>
      {files.length > MOST_SHOWN && <p className="small">{files.length - MOST_SHOWN} more are in the archive.</p>}
      <div className="line">
        <button type="button" className="button" onClick={() => save(archive, `${name}.tar`)}>
          Save all as {name}.tar
        </button>
        <State is="good">Whole, and what the chain names</State>
      </div>
    </>
  );
}

function bytesOf(archive: Blob, file: Member): Blob {
  return archive.slice(file.offset, file.offset + file.size);
}

/** The last part of its path: where it goes is for the browser's reader to say. */
function nameOf(file: Member): string {
  return file.path.split("/").at(-1) || "file";
}
