import { useMutation, useQuery } from "@tanstack/react-query";
import { forgetSessions } from "../../agent";
import { gatewayAddress, isAlone } from "../../api/gateway";
import { mayBeSignedIn, signedIn, signOut } from "../../api/signIn";
import { Address } from "../../ui/Address";
import { ProblemView } from "../../ui/ProblemView";
import { Time } from "../../ui/Time";

/** Who is signed in at the gateway from here, and the way out of that and of what this tab may ask machines. */
export function SignedInHere() {
  const { data: session, refetch } = useQuery({
    queryKey: ["session", isAlone() ? null : gatewayAddress()],
    queryFn: () => (isAlone() || !mayBeSignedIn() ? null : signedIn()),
    retry: false,
  });
  const leaving = useMutation({
    mutationFn: async () => {
      forgetSessions(sessionStorage);
      await signOut().finally(() => refetch());
    },
  });
  if (!session?.account && !leaving.error) return null;
  return (
    <section className="panel rows" aria-label="Who is signed in">
      <h2>Who is signed in</h2>
      {session?.account && (
        <p className="line">
          <Address address={session.account} />
          <span className="soft">
            until <Time at={session.expires_at} />
          </span>
        </p>
      )}
      <p className="small soft">
        The gateway keeps this account's uploads and hands out its results. Signing out also has this tab forget the
        keys by which it talks to machines.
      </p>
      <div className="line">
        <button type="button" className="button" disabled={leaving.isPending} onClick={() => leaving.mutate()}>
          Sign out
        </button>
      </div>
      {leaving.error && <ProblemView error={leaving.error} />}
    </section>
  );
}
