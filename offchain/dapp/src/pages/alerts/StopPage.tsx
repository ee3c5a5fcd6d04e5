import { useState } from "react";
import { useParams } from "react-router";
import { alerts } from "../../api/alerts";
import { Page } from "../../app/Page";
import { problemOf } from "../../chain";
import { ProblemView } from "../../ui/ProblemView";
import { State } from "../../ui/State";

/** Where the link of an alert leads. Opening it ends nothing: programs open links that nobody has followed. */
export default function StopPage() {
  const { token = "" } = useParams();
  const [standing, setStanding] = useState<"asked" | "busy" | "done">("asked");
  const [problem, setProblem] = useState<Error | null>(null);
  const stop = async (): Promise<void> => {
    setStanding("busy");
    setProblem(null);
    try {
      await alerts.stop(token);
      setStanding("done");
    } catch (error) {
      setProblem(problemOf(error, "ending it"));
      setStanding("asked");
    }
  };
  return (
    <Page title="No more alerts there">
      <div className="rows">
        <p>
          A message came to you that tells of somebody's leases, or holds a code to confirm that it may. You can end
          that here without signing in. If nobody has confirmed the place, no account has anything sent there by this
          gateway for ninety days.
        </p>
        {standing === "done" ? (
          <p>
            <State is="good">Nothing more is sent there</State>
          </p>
        ) : (
          <div className="line">
            <button type="button" className="button primary" disabled={standing === "busy"} onClick={() => void stop()}>
              Send nothing more there
            </button>
          </div>
        )}
        {problem !== null && <ProblemView error={problem} />}
      </div>
    </Page>
  );
}
