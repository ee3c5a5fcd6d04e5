/** Dark or light, as the reader's system says or as the reader chose on this device. */
export type Theme = "system" | "light" | "dark";

const KEPT = "leasehold.theme";

export function chosenTheme(): Theme {
  const kept = localStorage.getItem(KEPT);
  return kept === "light" || kept === "dark" ? kept : "system";
}

export function chooseTheme(theme: Theme): void {
  if (theme === "system") localStorage.removeItem(KEPT);
  else localStorage.setItem(KEPT, theme);
  applyTheme();
}

/** Makes the page look as chosen; styles/tokens.css reads the attribute. */
export function applyTheme(): void {
  const theme = chosenTheme();
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

/** Tells of each change of the look, by the system or by the reader, until what it gives is called. */
export function onLook(told: () => void): () => void {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const chosen = new MutationObserver(told);
  system.addEventListener("change", told);
  chosen.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  return () => {
    system.removeEventListener("change", told);
    chosen.disconnect();
  };
}
