import type { ReactNode } from "react";
import type { Place } from "../../groups";
import { ProblemView } from "../../ui/ProblemView";
import { Skeleton } from "../../ui/Skeleton";
import { type Account, WithWallet } from "../../wallet";
import { usePlace } from "./useGroups";

interface Props {
  readonly why: string;
  readonly children: (account: Account, place: Place) => ReactNode;
}

/** Shows its page to whoever has a wallet, once the chain has said where groups act. */
export function WithPlace({ why, children }: Props) {
  return <WithWallet why={why}>{(account) => <Placed account={account}>{children}</Placed>}</WithWallet>;
}

function Placed({ account, children }: { account: Account; children: Props["children"] }) {
  const place = usePlace(account);
  if (place.error) return <ProblemView error={place.error} onRetry={() => void place.refetch()} />;
  if (!place.data) return <Skeleton rows={6} />;
  return children(account, place.data);
}
