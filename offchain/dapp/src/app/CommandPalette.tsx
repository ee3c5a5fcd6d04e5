import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { useNavigate } from "react-router";
import { type Destination, destinations } from "./destinations";
import "./palette.css";

/** Goes to any page, machine or search by a few keys. A combobox in a dialog: arrows choose, Enter goes, Escape leaves. */
export function CommandPalette({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState("");
  const [chosen, setChosen] = useState(0);
  const navigate = useNavigate();
  const list = useId();
  const offered = destinations(typed);
  const at = Math.min(chosen, offered.length - 1);

  useEffect(() => dialog.current?.showModal(), []);

  const go = (destination: Destination | undefined): void => {
    if (destination === undefined) return;
    onClose();
    navigate(destination.to);
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === "Enter") go(offered[at]);
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    setChosen((at + by + offered.length) % offered.length);
  };

  return (
    <dialog ref={dialog} className="palette" aria-label="Go to" onClose={onClose}>
      <input
        className="input"
        role="combobox"
        aria-label="Go to a page, a machine or a search"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={`${list}-${at}`}
        placeholder="A page, a machine's number, or a search"
        value={typed}
        onKeyDown={onKey}
        onChange={(event) => {
          setTyped(event.target.value);
          setChosen(0);
        }}
      />
      <div id={list} role="listbox" aria-label="Where to">
        {offered.map((destination, place) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the combobox has the focus and takes the keys
          <div
            key={destination.to}
            id={`${list}-${place}`}
            role="option"
            tabIndex={-1}
            aria-selected={place === at}
            onClick={() => go(destination)}
          >
            {destination.title}
          </div>
        ))}
      </div>
    </dialog>
  );
}
