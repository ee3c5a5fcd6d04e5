import { useState } from "react";
import { NavLink } from "react-router";
import { WalletInHeader } from "../wallet/WalletInHeader";
import { CommandPalette } from "./CommandPalette";
import { HeadOfChain } from "./HeadOfChain";
import { ROUTES } from "./routes";
import { ThemeSwitch } from "./ThemeSwitch";
import { useShortcut } from "./useShortcut";

/** The name, the pages, how far the gateway has read the chain, the palette and the look. */
export function Header() {
  const [palette, setPalette] = useState(false);
  useShortcut("k", () => setPalette(true));
  return (
    <header className="header">
      <NavLink to="/" className="header-name" aria-label="Leasehold, to the market">
        <img src={`${import.meta.env.BASE_URL}icon.svg`} alt="" width="24" height="24" />
        <span>Leasehold</span>
      </NavLink>
      <nav aria-label="Pages" className="header-nav">
        {ROUTES.filter((route) => route.nav !== undefined).map((route) => (
          <NavLink key={route.path} to={route.path} end={route.path === "/"}>
            {route.nav}
          </NavLink>
        ))}
      </nav>
      <div className="header-account">
        <HeadOfChain />
        <button type="button" className="button quiet little header-palette" onClick={() => setPalette(true)}>
          Go to <kbd>Ctrl K</kbd>
        </button>
        <WalletInHeader />
        <ThemeSwitch />
      </div>
      {palette && <CommandPalette onClose={() => setPalette(false)} />}
    </header>
  );
}
