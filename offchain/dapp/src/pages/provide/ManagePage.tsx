import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "react-router";
import { useLive } from "../../api/live";
import { useMachinesOf } from "../../api/queries";
import { Page } from "../../app/Page";
import { MachineStatus, readHead, readOwnMachine, readParamsVersion, readProviderRules } from "../../chain";
import { prompt } from "../../format";
import { Facts } from "../../ui/Facts";
import { ProblemView } from "../../ui/ProblemView";
import { Skeleton } from "../../ui/Skeleton";
import { type Meaning, State } from "../../ui/State";
import { useNow } from "../../ui/useNow";
import { type Account, WithWallet } from "../../wallet";
import { MachineLink } from "../market/MachineLink";
import { StakePart } from "./StakePart";
import { TermsEditor } from "./TermsEditor";
import "./provide.css";

const LOOK_EVERY = 10_000;

/** One machine for whoever staked it: what it asks for, its stake, and the way out. All of it by the chain's word. */
export default function ManagePage() {
  const shown = useParams().machine ?? "";
  const id = /^\d{1,9}$/.test(shown) ? Number(shown) : 0;
  return (
    <Page title={`Manage machine ${shown}`} command={prompt`leasehold provider terms ${shown} --price 1.50`}>
      <WithWallet why="Terms and stake are the provider's: connect the wallet that staked this machine.">
        {(account) => <Managed account={account} id={id} />}
      </WithWallet>
    </Page>
  );
}

function Managed({ account, id }: { account: Account; id: number }) {
  const { chain, pool, sender } = account;
  useLive(["machines"]);
  const now = useNow();
  const listed = useMachinesOf([id]).get(id);
  const found = useQuery({
    queryKey: ["machines", "own", pool.controller, sender.account, id],
    queryFn: async () => {
      const [machine, version, head] = await Promise.all([
        readOwnMachine(chain, pool, id, sender.account),
        readParamsVersion(chain, pool),
        readHead(chain),
      ]);
      return { machine, version, head, rules: await readProviderRules(chain, pool, machine.params) };
    },
    refetchInterval: LOOK_EVERY,
  });
  if (found.error) return <ProblemView error={found.error} onRetry={() => void found.refetch()} />;
  if (!found.data) return <Skeleton rows={10} />;
  const { machine, version, rules, head } = found.data;
  const parts = { account, machine, now: Math.max(now, head.time), onDone: () => found.refetch() };
  const gone = machine.status === MachineStatus.retired;
  const [meaning, words] = standingOf(machine);
  return (
    <>
      <section className="panel" aria-label="How it stands">
        <Facts
          facts={[
            ["Machine", <MachineLink key="machine" number={id} machine={listed} />],
            [
              "On the market",
              <State key="state" is={meaning}>
                {words}
              </State>,
            ],
            ["Terms", `revision ${machine.revision}`],
            [
              "All your machines",
              <Link key="all" to={`/providers/${sender.account}`}>
                machines, earnings and claims
              </Link>,
            ],
          ]}
        />
      </section>
      {!gone && <TermsEditor {...parts} rules={version} />}
      <StakePart {...parts} rules={rules} />
    </>
  );
}

function standingOf(machine: Awaited<ReturnType<typeof readOwnMachine>>): readonly [Meaning, string] {
  if (machine.status === MachineStatus.retired) return ["plain", "Retired"];
  if (machine.downSince) return ["bad", "Down"];
  if (machine.stalled) return ["warning", "Stalled: a lease was left unstarted"];
  if (machine.underStaked) return ["warning", "Takes no lease: its stake is too small"];
  if (machine.delisted) return ["waiting", "Out of sale"];
  return ["good", "For rent"];
}
