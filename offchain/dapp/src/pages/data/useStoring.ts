import { useCallback, useEffect, useRef, useState } from "react";
import { signIn } from "../../api/signIn";
import { uploads } from "../../api/stored";
import { problemOf } from "../../chain";
import { goOnStoring, type KeptDataset, keyBook, type Picked, type Storing, shelf, storeDataset } from "../../data";
import { type Account, textSigner } from "../../wallet";

/** One dataset at a time on its way, from this page; leaving the page stops it, and it is gone on with later. */
export function useStoring(account: Account) {
  const [storing, setStoring] = useState<Storing | null>(null);
  const [problem, setProblem] = useState<Error | null>(null);
  const going = useRef<AbortController | null>(null);
  useEffect(() => () => going.current?.abort(), []);
  const run = useCallback(
    async (name: string, act: (hands: Parameters<typeof storeDataset>[0]) => Promise<KeptDataset>) => {
      const ended = new AbortController();
      going.current = ended;
      setProblem(null);
      setStoring({ what: "sealing", name, done: 0, all: 0 });
      try {
        await signIn(account.sender.account, textSigner(account.sender));
        return await act({
          book: keyBook(account.sender.account),
          shelf,
          place: uploads,
          now: () => Math.floor(Date.now() / 1000),
          wait: (milliseconds) => new Promise((after) => setTimeout(after, milliseconds)),
          tell: setStoring,
          signal: ended.signal,
        });
      } catch (error) {
        if (!ended.signal.aborted) setProblem(problemOf(error, "signing in to the gateway"));
        return null;
      } finally {
        setStoring(null);
      }
    },
    [account],
  );
  const store = useCallback((picked: Picked) => run(picked.name, (hands) => storeDataset(hands, picked)), [run]);
  const goOn = useCallback((kept: KeptDataset) => run(kept.name, (hands) => goOnStoring(hands, kept)), [run]);
  return { storing, problem, setProblem, store, goOn };
}
