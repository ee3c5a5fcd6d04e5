import { FitAddon } from "@xterm/addon-fit";
import { Terminal as Screen } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import { useEffect, useRef, useState } from "react";
import { type AgentClient, openTerminal, type Terminal } from "../../agent";
import { onLook } from "../../app/theme";
import { problemOf } from "../../chain";
import type { Problem } from "../../problem";
import { ProblemView } from "../../ui/ProblemView";
import { State } from "../../ui/State";
import { sheetsForStyles } from "./sheetsForStyles";

const SHELL = ["sh", "-c", "command -v bash >/dev/null && exec bash || exec sh"];

/** A shell in the lease's container. */
export default function TerminalPart({ agent, lease }: { agent: AgentClient; lease: bigint }) {
  const place = useRef<HTMLDivElement>(null);
  const [ended, setEnded] = useState<number | Problem | null>(null);
  const [turn, setTurn] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another turn is another shell
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    setEnded(null);
    let gone = false;
    let terminal: Terminal | null = null;
    const styles = sheetsForStyles(document);
    const screen = new Screen({ ...look(element), documentOverride: styles.document, screenReaderMode: true });
    const fit = new FitAddon();
    screen.loadAddon(fit);
    styles.during(() => screen.open(element));
    fit.fit();
    screen.focus();
    const utf8 = new TextEncoder();
    screen.onData((data) => terminal?.write(utf8.encode(data)));
    screen.onBinary((data) => terminal?.write(Uint8Array.from(data, (letter) => letter.charCodeAt(0))));
    screen.onResize(({ rows, cols }) => terminal?.resize(rows, cols));
    const resized = new ResizeObserver(() => fit.fit());
    resized.observe(element);
    const sameLook = onLook(() => {
      screen.options.theme = look(element).theme;
    });
    openTerminal(agent, lease, SHELL, [screen.rows, screen.cols], {
      output: (data) => screen.write(data),
      ended: (how) => !gone && setEnded(how),
    })
      .then((opened) => {
        if (gone) opened.close();
        else terminal = opened;
      })
      .catch((error: unknown) => !gone && setEnded(problemOf(error, "opening a terminal")));
    return () => {
      gone = true;
      sameLook();
      resized.disconnect();
      terminal?.close();
      screen.dispose();
      styles.dispose();
    };
  }, [agent, lease, turn]);
  return (
    <section className="rows" aria-label="Terminal">
      <div className="line apart">
        {ended === null ? (
          <State is="good">A shell in the container</State>
        ) : (
          <State is="plain">
            {typeof ended === "number" ? `The shell has ended with ${ended}` : "The shell has ended"}
          </State>
        )}
        {ended !== null && (
          <button type="button" className="button little" onClick={() => setTurn(turn + 1)}>
            Open another
          </button>
        )}
      </div>
      <div ref={place} className="shell" />
      {ended !== null && typeof ended !== "number" && <ProblemView error={ended} />}
    </section>
  );
}

/** Colours and letters as the page has them. */
function look(element: HTMLElement) {
  const style = getComputedStyle(element);
  const { color, fontFamily, backgroundColor } = style;
  return { fontFamily, fontSize: 13, theme: { background: backgroundColor, foreground: color, cursor: color } };
}
