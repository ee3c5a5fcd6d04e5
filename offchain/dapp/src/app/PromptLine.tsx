import { Copy } from "../ui/Copy";

/** The command that does at the prompt what the page does. */
export function PromptLine({ command }: { command: string }) {
  return (
    <footer className="prompt-line">
      <span>At the prompt</span>
      <code>{command}</code>
      <Copy text={command} what="the command" />
    </footer>
  );
}
