import { type DragEvent, useId, useState } from "react";
import { type KeptDataset, type Picked, pickedDrop, pickedFiles } from "../../data";
import { formatSize } from "../../format";
import { Problem } from "../../problem";
import { ProblemView } from "../../ui/ProblemView";
import { Progress } from "../../ui/Progress";
import type { Account } from "../../wallet";
import { useStoring } from "./useStoring";
import "./data.css";

interface Props {
  readonly account: Account;
  /** Hears of what has been sealed and stored. */
  readonly onStored?: (dataset: KeptDataset) => void;
}

const WORDS = { sealing: "Sealing", sending: "Sending" } as const;

/** Files or folders, dropped or chosen: sealed in this browser, then sent to the gateway. */
export function DropZone({ account, onStored }: Props) {
  const [over, setOver] = useState(false);
  const { storing, problem, setProblem, store } = useStoring(account);
  const says = useId();
  const take = (picking: Promise<Picked> | Picked): void => {
    void (async () => {
      try {
        const stored = await store(await picking);
        if (stored) onStored?.(stored);
      } catch (error) {
        setProblem(
          error instanceof Problem ? error : new Problem("not-picked", "That cannot be read.", "Choose it again."),
        );
      }
    })();
  };
  const dropped = (event: DragEvent): void => {
    event.preventDefault();
    setOver(false);
    if (!storing) take(pickedDrop(event.dataTransfer.items));
  };
  const chosen = (files: FileList | null): void => {
    if (files?.length) take((async () => pickedFiles([...files]))());
  };
  return (
    <div className="rows">
      {/* biome-ignore lint/a11y/noStaticElementInteractions: dropping is one more way; the buttons in it do the same */}
      <div
        className={over ? "drop over" : "drop"}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={dropped}
      >
        <p id={says}>
          Drop a file or a folder here. It is sealed in this browser, under a key that the gateway never has.
        </p>
        <div className="line">
          <Chooser label="Choose files" folder={false} disabled={storing !== null} says={says} onChoose={chosen} />
          <Chooser label="Choose a folder" folder disabled={storing !== null} says={says} onChoose={chosen} />
        </div>
      </div>
      {storing && (
        <div aria-live="polite">
          <Progress
            label={`${WORDS[storing.what]} ${storing.name}`}
            done={storing.done}
            all={storing.all}
            format={formatSize}
          />
        </div>
      )}
      {problem && <ProblemView error={problem} />}
    </div>
  );
}

interface ChooserProps {
  readonly label: string;
  readonly folder: boolean;
  readonly disabled: boolean;
  readonly says: string;
  readonly onChoose: (files: FileList | null) => void;
}

function Chooser({ label, folder, disabled, says, onChoose }: ChooserProps) {
  return (
    <label className={disabled ? "button disabled" : "button"}>
      {label}
      <input
        type="file"
        className="unseen"
        multiple={!folder}
        disabled={disabled}
        aria-describedby={says}
        {...(folder ? { webkitdirectory: "" } : {})}
        onChange={(event) => {
          onChoose(event.target.files);
          event.target.value = ""; // the same again is a choice, too
        }}
      />
    </label>
  );
}
