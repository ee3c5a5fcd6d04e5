import { type FormEvent, useState } from "react";
import { useNavigate } from "react-router";
import { problemOf } from "../../chain";
import { accountIn, keepGroup, type Place, readSafe, routeOf } from "../../groups";
import { ProblemView } from "../../ui/ProblemView";
import type { Account } from "../../wallet";

/** A Safe that one owns with others: who owns it, the chain says. */
export function AddSafe({ account, place }: { account: Account; place: Place }) {
  const [written, setWritten] = useState("");
  const [problem, setProblem] = useState<unknown>(null);
  const navigate = useNavigate();
  const open = async (): Promise<void> => {
    setProblem(null);
    try {
      const safe = await readSafe(account.chain, accountIn(written.trim()));
      if (safe.signers.includes(account.sender.account)) keepGroup(place, localStorage, safe);
      navigate(routeOf(safe));
    } catch (error) {
      setProblem(problemOf(error, "opening the Safe"));
    }
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void open();
  };
  return (
    <section className="panel rows" aria-labelledby="add-safe">
      <h2 id="add-safe">Use a Safe</h2>
      <p>
        Its owners sign here as a group's signers do. The Safe itself sends nothing and its own queue is not touched.
      </p>
      <form className="line asked" onSubmit={submit}>
        <div className="field grow">
          <label htmlFor="safe">Address of the Safe</label>
          <input
            id="safe"
            className="input mono"
            spellCheck={false}
            autoComplete="off"
            placeholder="0x…"
            value={written}
            onChange={(event) => setWritten(event.target.value)}
          />
        </div>
        <button type="submit" className="button" disabled={!written.trim()}>
          Open the Safe
        </button>
      </form>
      {problem !== null && <ProblemView error={problem} />}
    </section>
  );
}
