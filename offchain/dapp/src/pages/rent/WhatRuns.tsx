import { type HostImage, reference, type Template, templates, titleOf } from "../../sealing";
import { type Draft, imageOf } from "./draft";

interface Props {
  readonly draft: Draft;
  readonly template: Template | undefined;
  readonly images: readonly HostImage[];
  readonly onTemplate: (name: string) => void;
  readonly onDraft: (draft: Draft) => void;
}

/** Templates to choose from, or an image of one's own; and the command. */
export function WhatRuns({ draft, template, images, onTemplate, onDraft }: Props) {
  const own = images.filter((image) => image.name || image.id);
  return (
    <section className="panel rows" aria-labelledby="what-runs">
      <h2 id="what-runs">What runs</h2>
      <fieldset className="choices">
        <legend className="unseen">Template</legend>
        <Choice name="" summary="An image of your own" chosen={!template} onChoose={onTemplate} />
        {templates.map(({ name, summary }) => (
          <Choice key={name} name={name} summary={summary} chosen={template?.name === name} onChoose={onTemplate} />
        ))}
      </fieldset>
      <div className="field">
        <label htmlFor="image">Image</label>
        <input
          id="image"
          className="input mono"
          list="images"
          spellCheck={false}
          placeholder={
            imageOf({ ...draft, image: "" }, template, images) || "name@sha256:… or one that the machine has"
          }
          value={draft.image}
          onChange={(event) => onDraft({ ...draft, image: event.target.value })}
        />
        <datalist id="images">
          {own.map((image) => (
            <option key={image.id} value={reference(image)}>
              {image.name}
            </option>
          ))}
        </datalist>
        <p className="small soft">
          {own.length
            ? `The machine has ${own.length === 1 ? "1 image at hand, which starts" : `${own.length} images at hand, which start`} without a download.`
            : "The machine lists no images."}
        </p>
      </div>
      <div className="field">
        <label htmlFor="command">Command{template?.needs_command ? "" : " (may stay empty)"}</label>
        <input
          id="command"
          className="input mono"
          spellCheck={false}
          value={draft.command}
          onChange={(event) => onDraft({ ...draft, command: event.target.value })}
        />
      </div>
      <label className="line">
        <input
          type="checkbox"
          checked={draft.internet}
          onChange={(event) => onDraft({ ...draft, internet: event.target.checked })}
        />
        It may reach the internet
      </label>
    </section>
  );
}

interface ChoiceProps {
  readonly name: string;
  readonly summary: string;
  readonly chosen: boolean;
  readonly onChoose: (name: string) => void;
}

function Choice({ name, summary, chosen, onChoose }: ChoiceProps) {
  return (
    <label className={chosen ? "choice chosen" : "choice"}>
      <input type="radio" name="template" checked={chosen} onChange={() => onChoose(name)} />
      <span>
        <strong>{name ? titleOf(name) : "Your own"}</strong>
        <span className="small soft">{summary}</span>
      </span>
    </label>
  );
}
