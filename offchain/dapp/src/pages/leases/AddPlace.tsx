import { useState } from "react";
import { type AlertWay, alerts, type NewPlace, type ToldPlaces } from "../../api/alerts";
import { formatDuration } from "../../format";
import { Copy } from "../../ui/Copy";
import { type Account, DoingView, useDoing } from "../../wallet";
import { saidKind, saidWay, USUAL } from "./alertWords";

const BEFORES = [900, 1_800, 3_600, 3 * 3_600, 12 * 3_600, 86_400];
const ADDRESSES: Readonly<Record<AlertWay, readonly [string, string]>> = {
  webhook: ["Its address", "https://example.org/leases"],
  ntfy: ["Server, unless it is ntfy.sh", "https://ntfy.sh"],
  mail: ["Mail address", "ada@example.org"],
};

interface Props {
  readonly account: Account;
  readonly known: ToldPlaces;
  readonly onDone: () => Promise<void>;
}

/** A place is named, and a code is sent there. */
export function AddPlace({ account, known, onDone }: Props) {
  const [way, setWay] = useState<AlertWay>(known.ways[0] ?? "webhook");
  const [address, setAddress] = useState("");
  const [topic, setTopic] = useState("");
  const [before, setBefore] = useState(3_600);
  const [kinds, setKinds] = useState(() => new Set(known.kinds.filter((kind) => USUAL.has(kind))));
  const [secret, setSecret] = useState<string | null>(null);
  const { doing, run } = useDoing();
  const [label, example] = ADDRESSES[way];
  const isNtfy = way === "ntfy";
  const whole = kinds.size > 0 && (isNtfy ? topic.trim() !== "" : address.trim() !== "");
  const add = (): void =>
    void run("having a code sent there", async () => {
      const to: NewPlace["to"] = { way, address: address.trim(), ...(isNtfy ? { topic: topic.trim() } : {}) };
      const made = await alerts.add({ to, kinds: [...kinds].sort(), before });
      setSecret(made.secret);
      setAddress("");
      setTopic("");
      await onDone();
    });
  const toggle = (kind: string): void =>
    setKinds((now) => {
      const changed = new Set(now);
      if (!changed.delete(kind)) changed.add(kind);
      return changed;
    });
  return (
    <form
      className="rows"
      onSubmit={(event) => {
        event.preventDefault();
        if (whole && !doing.busy) add();
      }}
    >
      <div className="line told-where">
        <div className="field">
          <label htmlFor="way">Tell me by</label>
          <select id="way" className="input" value={way} onChange={(event) => setWay(event.target.value as AlertWay)}>
            {known.ways.map((one) => (
              <option key={one} value={one}>
                {saidWay(one)}
              </option>
            ))}
          </select>
        </div>
        {isNtfy && (
          <div className="field">
            <label htmlFor="topic">Topic, which you tell nobody</label>
            <input
              id="topic"
              className="input mono"
              autoComplete="off"
              spellCheck={false}
              value={topic}
              onChange={(event) => setTopic(event.target.value)}
            />
          </div>
        )}
        <div className="field">
          <label htmlFor="place">{label}</label>
          <input
            id="place"
            className="input mono"
            type={way === "mail" ? "email" : "url"}
            placeholder={example}
            autoComplete="off"
            spellCheck={false}
            value={address}
            onChange={(event) => setAddress(event.target.value)}
          />
        </div>
      </div>
      <fieldset className="told-kinds">
        <legend>Of a lease, when</legend>
        {known.kinds.map((kind) => (
          <label key={kind} className="line">
            <input type="checkbox" checked={kinds.has(kind)} onChange={() => toggle(kind)} /> {saidKind(kind)}
          </label>
        ))}
      </fieldset>
      <div className="field told-before">
        <label htmlFor="before">“Soon” is less than</label>
        <select
          id="before"
          className="input"
          value={before}
          onChange={(event) => setBefore(Number(event.target.value))}
        >
          {BEFORES.map((seconds) => (
            <option key={seconds} value={seconds}>
              {formatDuration(seconds)}
            </option>
          ))}
        </select>
      </div>
      <div className="line">
        <button type="submit" className="button" disabled={!whole || doing.busy}>
          Send a code there
        </button>
        <p className="small soft">Nothing else is sent there until you have brought the code here.</p>
      </div>
      {secret !== null && (
        <div className="notice">
          <p>
            What the webhook gets is signed (HMAC-SHA256, header <code>X-Leasehold-Signature</code>) by a secret that is
            shown this once:
          </p>
          <p className="line">
            <code className="break">{secret}</code> <Copy text={secret} what="the secret" />
          </p>
        </div>
      )}
      <DoingView doing={doing} chain={account.chain} />
    </form>
  );
}
