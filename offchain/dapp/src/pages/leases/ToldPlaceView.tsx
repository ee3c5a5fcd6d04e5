import { useState } from "react";
import { alerts, type ToldPlace } from "../../api/alerts";
import { State } from "../../ui/State";
import { Time } from "../../ui/Time";
import { type Account, DoingView, useDoing } from "../../wallet";
import { saidKind, saidWay } from "./alertWords";

interface Props {
  readonly account: Account;
  readonly place: ToldPlace;
  readonly looked: () => Promise<void>;
}

/** One place: whether it was confirmed, what was sent there last, and why it takes nothing, if so. */
export function ToldPlaceView({ account, place, looked }: Props) {
  const { doing, run } = useDoing();
  const [code, setCode] = useState("");
  const act = (what: string, doIt: () => Promise<unknown>): void =>
    void run(what, async () => {
      await doIt();
      await looked();
    });
  const confirmed = place.confirmed_at > 0;
  const field = `code-${place.id}`;
  return (
    <li className="panel rows">
      <div className="line apart">
        <strong className="break">
          {saidWay(place.way)} <span className="mono">{place.shown}</span>
        </strong>
        <Standing place={place} />
      </div>
      {confirmed && (
        <p className="small soft">
          {place.sent_at > 0 ? (
            <>
              Last told <Time at={place.sent_at} past />
            </>
          ) : (
            "Nothing has happened yet"
          )}
          {place.waiting > 0 && `, ${place.waiting} still to be told`}. Of a lease, when:{" "}
          {place.kinds.map(saidKind).join("; ")}.
        </p>
      )}
      {place.failing !== "" && (
        <p className="notice warning">It takes nothing: {place.failing}. It is tried again for a day.</p>
      )}
      <div className="line fields">
        {!confirmed && (
          <div className="field">
            <label htmlFor={field}>The code that was sent there</label>
            <input
              id={field}
              className="input mono"
              autoComplete="off"
              spellCheck={false}
              value={code}
              onChange={(event) => setCode(event.target.value)}
            />
          </div>
        )}
        {!confirmed && (
          <button
            type="button"
            className="button primary"
            disabled={doing.busy || code.trim() === ""}
            onClick={() => act("bringing the code", () => alerts.confirm(place.id, code))}
          >
            Bring the code
          </button>
        )}
        <button
          type="button"
          className="button quiet"
          disabled={doing.busy}
          aria-label={`Send nothing more to ${place.shown}`}
          onClick={() => act("removing it", () => alerts.remove(place.id))}
        >
          Send nothing more there
        </button>
      </div>
      <DoingView doing={doing} chain={account.chain} />
    </li>
  );
}

function Standing({ place }: { place: ToldPlace }) {
  if (place.confirmed_at === 0) return <State is="waiting">Unconfirmed: only a code was sent</State>;
  if (place.failing !== "") return <State is="bad">Failing</State>;
  return <State is="good">Confirmed</State>;
}
