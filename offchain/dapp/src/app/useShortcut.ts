import { useEffect, useRef } from "react";

/** Calls when Ctrl (on a Mac: Command) and the key are pressed, wherever the focus is. */
export function useShortcut(key: string, onPressed: () => void): void {
  const pressed = useRef(onPressed);
  pressed.current = onPressed;
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || event.key.toLowerCase() !== key) return;
      event.preventDefault();
      pressed.current();
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, [key]);
}
