import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { signIn } from "../../api/signIn";
import { resultBlocks } from "../../api/stored";
import { formatLease, problemOf } from "../../chain";
import {
  keyBook,
  type OpenedOutput,
  type Output,
  openOutput,
  type Results,
  readResults,
  resultsKey,
  shelf,
} from "../../data";
import { type Account, textSigner, typedDataSigner } from "../../wallet";

/** How much of an output has come, in bytes. */
export interface Coming {
  readonly path: string;
  readonly done: number;
  readonly all: number;
}

const PREFIX = "results-";
const STALE_MS = 86_400_000;

/** A lease's results: listed, and opened one by one. What was opened lies on the shelf until the page is left. */
export function useResults(account: Account, lease: bigint, cid: string) {
  const [results, setResults] = useState<Results | null>(null);
  const [opened, setOpened] = useState<ReadonlyMap<string, OpenedOutput>>(new Map());
  const [coming, setComing] = useState<Coming | null>(null);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Error | null>(null);
  const shown = formatLease(lease);
  const blocks = useMemo(() => resultBlocks(shown), [shown]);
  const going = useRef<AbortController>(new AbortController());
  const lying = useRef<string[]>([]);
  useEffect(() => {
    going.current = new AbortController();
    void sweep();
    return () => {
      going.current.abort();
      for (const name of lying.current.splice(0)) void shelf.remove(name);
    };
  }, []);
  const run = useCallback(async (act: (signal: AbortSignal) => Promise<void>) => {
    const { signal } = going.current;
    setBusy(true);
    setProblem(null);
    try {
      await act(signal);
    } catch (error) {
      if (!signal.aborted) setProblem(problemOf(error, "opening the results"));
    } finally {
      setBusy(false);
      setComing(null);
    }
  }, []);
  const list = useCallback(
    () =>
      run(async (signal) => {
        await signIn(account.sender.account, textSigner(account.sender));
        setResults(await readResults(cid, shown, blocks, signal));
      }),
    [run, account, cid, shown, blocks],
  );
  const open = useCallback(
    (output: Output) =>
      run(async (signal) => {
        if (results === null) return;
        const { pool, sender } = account;
        const key = output.public
          ? null
          : await resultsKey(keyBook(sender.account), pool, sender.account, typedDataSigner(sender));
        const name = `${PREFIX}${Date.now()}-${crypto.randomUUID()}`;
        lying.current.push(name);
        const tell = (done: number, all: number): void => setComing({ path: output.path, done, all });
        const made = await openOutput(results, output, key, blocks, shelf, name, tell, signal);
        setOpened((before) => new Map(before).set(output.path, made));
      }),
    [run, results, account, blocks],
  );
  return { results, opened, coming, busy, problem, list, open };
}

/** What a tab left behind that was closed before it could clean up. */
async function sweep(): Promise<void> {
  for (const name of await shelf.names().catch(() => [])) {
    const made = Number(name.startsWith(PREFIX) ? name.slice(PREFIX.length).split("-")[0] : Number.NaN);
    if (made < Date.now() - STALE_MS) await shelf.remove(name);
  }
}
