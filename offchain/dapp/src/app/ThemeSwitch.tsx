import { useState } from "react";
import { chooseTheme, chosenTheme, type Theme } from "./theme";

const NAMES: Readonly<Record<Theme, string>> = { system: "System", light: "Light", dark: "Dark" };

/** Chooses between light, dark and what the system says. */
export function ThemeSwitch() {
  const [theme, setTheme] = useState(chosenTheme);
  return (
    <select
      className="theme-switch"
      aria-label="Light or dark"
      value={theme}
      onChange={(event) => {
        const chosen = event.target.value as Theme;
        chooseTheme(chosen);
        setTheme(chosen);
      }}
    >
      {Object.entries(NAMES).map(([value, name]) => (
        <option key={value} value={value}>
          {name}
        </option>
      ))}
    </select>
  );
}
