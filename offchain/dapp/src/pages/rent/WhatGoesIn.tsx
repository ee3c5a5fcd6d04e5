import { type ReactNode, useState } from "react";
import type { KeptDataset } from "../../data";
import type { DatasetMount } from "../../sealing";
import type { Account } from "../../wallet";
import { DropZone } from "../data/DropZone";
import { useKeyBook } from "../data/useKeyBook";
import type { Draft } from "./draft";

interface Props {
  readonly account: Account;
  readonly draft: Draft;
  readonly onDraft: (change: (draft: Draft) => Draft) => void;
}

/** Data that the lease reads, and the files that come back from it. */
export function WhatGoesIn({ account, draft, onDraft }: Props) {
  const [, kept] = useKeyBook(account.sender.account);
  const stored = kept.datasets.filter(({ state }) => state !== "sealed");
  const mounted = (cid: string): boolean => draft.datasets.some((mount) => mount.cid === cid);
  const mount = (dataset: KeptDataset): void =>
    onDraft((now) => ({ ...now, datasets: [...now.datasets, mountOf(dataset, now.datasets)] }));
  const others = stored.filter(({ cid }) => !mounted(cid));
  return (
    <section className="panel rows" aria-labelledby="goes-in">
      <h2 id="goes-in">What goes in, and what comes back</h2>
      {draft.datasets.map((dataset, at) => (
        <Mount
          // biome-ignore lint/suspicious/noArrayIndexKey: a CID that is being typed is no key, and rows keep their places
          key={at}
          mount={dataset}
          kept={kept.datasets.find(({ cid }) => cid === dataset.cid)}
          number={at + 1}
          onChange={(changed) => onDraft((now) => ({ ...now, datasets: replaced(now.datasets, at, changed) }))}
        />
      ))}
      {others.length > 0 && (
        <div className="line">
          <span className="small soft">Yours:</span>
          {others.map((dataset) => (
            <button key={dataset.cid} type="button" className="chip" onClick={() => mount(dataset)}>
              Add {dataset.name || `${dataset.cid.slice(0, 12)}…`}
            </button>
          ))}
        </div>
      )}
      <Dropping account={account} onStored={mount}>
        <button
          type="button"
          className="button"
          onClick={() =>
            onDraft((now) => ({
              ...now,
              datasets: [...now.datasets, { cid: "", path: freePath("data", now.datasets) }],
            }))
          }
        >
          Name data by its CID
        </button>
      </Dropping>
      <div className="field">
        <label htmlFor="outputs">Folders that come back (may stay empty)</label>
        <input
          id="outputs"
          className="input mono"
          spellCheck={false}
          placeholder="/out"
          value={draft.outputs}
          aria-describedby="outputs-say"
          onChange={(event) => onDraft((now) => ({ ...now, outputs: event.target.value }))}
        />
        <p id="outputs-say" className="small soft">
          They are packed at the end, sealed to a key that your wallet makes; this browser opens them.
        </p>
      </div>
      <label className="line">
        <input
          type="checkbox"
          checked={draft.job}
          onChange={(event) => onDraft((now) => ({ ...now, job: event.target.checked }))}
        />
        It is a job: what comes back is packed when its command ends
      </label>
    </section>
  );
}

interface DroppingProps {
  readonly account: Account;
  readonly onStored: (dataset: KeptDataset) => void;
  /** The other ways to name data. */
  readonly children: ReactNode;
}

function Dropping({ account, onStored, children }: DroppingProps) {
  const [shown, setShown] = useState(false);
  return (
    <>
      <div className="line">
        {!shown && (
          <button type="button" className="button" onClick={() => setShown(true)}>
            Add files from this device
          </button>
        )}
        {children}
      </div>
      {shown && <DropZone account={account} onStored={onStored} />}
    </>
  );
}

interface MountProps {
  readonly mount: DatasetMount;
  readonly kept: KeptDataset | undefined;
  readonly number: number;
  readonly onChange: (mount: DatasetMount | null) => void;
}

function Mount({ mount, kept, number, onChange }: MountProps) {
  return (
    <fieldset className="mount bare">
      <legend className="small">{kept?.name || `Data ${number}`}</legend>
      {kept ? (
        <p className="small soft break">
          <code>{mount.cid}</code>, sealed; its key goes to the machine alone
        </p>
      ) : (
        <div className="field">
          <label htmlFor={`cid-${number}`}>CID of data {number}</label>
          <input
            id={`cid-${number}`}
            className="input mono"
            spellCheck={false}
            value={mount.cid}
            onChange={(event) => onChange({ ...mount, cid: event.target.value.trim() })}
          />
        </div>
      )}
      <div className="line">
        <div className="field">
          <label htmlFor={`path-${number}`}>Where data {number} lies, read-only</label>
          <input
            id={`path-${number}`}
            className="input mono"
            spellCheck={false}
            value={mount.path}
            onChange={(event) => onChange({ ...mount, path: event.target.value })}
          />
        </div>
        <button type="button" className="button quiet" onClick={() => onChange(null)}>
          Leave it out
        </button>
      </div>
    </fieldset>
  );
}

function mountOf({ cid, key, name }: KeptDataset, others: readonly DatasetMount[]): DatasetMount {
  return { cid, path: freePath(name, others), key };
}

/** `/data/NAME`, which no other has. */
function freePath(name: string, others: readonly DatasetMount[]): string {
  const plain = name.replaceAll(/[^A-Za-z0-9._-]+/g, "-").replaceAll(/^[-.]+|-+$/g, "") || "data";
  const taken = new Set(others.map(({ path }) => path));
  let path = `/data/${plain}`;
  for (let number = 2; taken.has(path); number += 1) path = `/data/${plain}-${number}`;
  return path;
}

function replaced(mounts: readonly DatasetMount[], at: number, changed: DatasetMount | null): readonly DatasetMount[] {
  return mounts.flatMap((mount, place) => (place === at ? (changed ?? []) : mount));
}
