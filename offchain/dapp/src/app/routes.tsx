import { type ComponentType, lazy } from "react";
import Market from "../pages/market/Market";

/** A page: where it is, what it is called, and whether the header names it. `title` is what the palette shows. */
export interface PageRoute {
  readonly path: string;
  readonly title: string;
  readonly nav?: string;
  readonly page: ComponentType;
}

/** Every page of the app, in the header's order. A path with a `:` part is reached from other pages, not by name. The market
 * comes with the frame, since most visits begin there; vite.config.ts holds that. Every other page comes when it is gone to. */
export const ROUTES: readonly PageRoute[] = [
  { path: "/", title: "Find a machine", nav: "Market", page: Market },
  { path: "/machines/:machine", title: "A machine", page: lazy(() => import("../pages/machine/MachinePage")) },
  { path: "/compare", title: "Compare machines", page: lazy(() => import("../pages/market/Compare")) },
  { path: "/rent", title: "Rent a machine", page: lazy(() => import("../pages/rent/RentPage")) },
  { path: "/leases", title: "Your leases", nav: "Leases", page: lazy(() => import("../pages/leases/LeasesPage")) },
  { path: "/leases/:lease", title: "A lease", page: lazy(() => import("../pages/lease/LeasePage")) },
  {
    path: "/groups",
    title: "Groups that rent together",
    nav: "Groups",
    page: lazy(() => import("../pages/groups/GroupsPage")),
  },
  { path: "/groups/:group", title: "A group", page: lazy(() => import("../pages/groups/GroupPage")) },
  {
    path: "/groups/:group/:proposal",
    title: "Sign together",
    page: lazy(() => import("../pages/groups/ProposalPage")),
  },
  { path: "/data", title: "Your data", nav: "Data", page: lazy(() => import("../pages/data/DataPage")) },
  { path: "/provide", title: "Provide machines", nav: "Provide", page: lazy(() => import("../pages/provide/Provide")) },
  { path: "/provide/:machine", title: "Manage a machine", page: lazy(() => import("../pages/provide/ManagePage")) },
  { path: "/providers/:provider", title: "A provider", page: lazy(() => import("../pages/provide/ProviderPage")) },
  { path: "/pool", title: "The pool and its rules", nav: "Pool", page: lazy(() => import("../pages/pool/PoolPage")) },
  { path: "/validators", title: "Validators", page: lazy(() => import("../pages/validators/ValidatorsPage")) },
  { path: "/validators/:seat", title: "A validator's seat", page: lazy(() => import("../pages/validators/SeatPage")) },
  { path: "/alerts/stop/:token", title: "No more alerts there", page: lazy(() => import("../pages/alerts/StopPage")) },
  { path: "/gateway", title: "The gateway that answers", page: lazy(() => import("../pages/gateway/GatewayPage")) },
];
