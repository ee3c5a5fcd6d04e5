import { Link } from "react-router";
import { Empty } from "../ui/Empty";
import { Page } from "./Page";

export function NoSuchPage() {
  return (
    <Page title="There is no such page">
      <Empty says="Nothing stands at this address.">
        <Link className="button primary" to="/">
          Find a machine
        </Link>
      </Empty>
    </Page>
  );
}
