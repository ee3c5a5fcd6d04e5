import { useNavigate } from "react-router";
import { type Call, type Group, type Place, propose, routeOf } from "../../groups";
import { type Account, typedDataSigner, useDoing } from "../../wallet";

/** Proposes calls of a group, signs them as its member, and goes to the proposal's page. */
export function useProposing(account: Account, place: Place, group: Group) {
  const navigate = useNavigate();
  const { doing, run } = useDoing();
  const { chain, sender } = account;
  const start = (calls: readonly Call[]): void =>
    void run("signing the proposal", async (tell) => {
      const signTypedData = typedDataSigner(sender);
      const proposal = await propose({ chain, place, group, member: sender.account, signTypedData, tell }, calls);
      navigate(routeOf(group, proposal.digest));
    });
  return { doing, start };
}
