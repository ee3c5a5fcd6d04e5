/** Templates as the library ships them: they come with the app, so that no gateway chooses what runs. */
import { bytesToHex } from "viem";

import { shippedTemplates } from "./generated/templates";
import type { WorkloadFields } from "./workload";

export interface Template {
  readonly name: string;
  readonly summary: string;
  readonly secrets: readonly string[];
  readonly needs_command: boolean;
  readonly use: readonly string[];
  readonly workload: Partial<WorkloadFields>;
}

export const templates = shippedTemplates as unknown as readonly Template[];

const TITLES: Readonly<Record<string, string>> = {
  batch: "Batch job",
  comfyui: "ComfyUI",
  jupyter: "JupyterLab",
  pytorch: "PyTorch",
  ubuntu: "Ubuntu",
  vllm: "vLLM",
};

/** A template's name as what it starts is called; the prompt takes the name itself. */
export function titleOf(name: string): string {
  return TITLES[name] ?? name;
}

/** An image that a machine has at hand, as its contact document lists it. */
export interface HostImage {
  readonly id: string;
  readonly name: string;
}

/** How a workload names that image: by its digest where it came from a registry, by its id where its owner named it. */
export function reference(image: HostImage): string {
  return image.name.includes("@sha256:") ? image.name : image.id;
}

/** The machine's image that a template's tag stands for there, if it has one of that repository. */
export function atHand(template: Template, images: readonly HostImage[]): HostImage | undefined {
  const wanted = repository(template.workload.image ?? "");
  return wanted ? images.find((image) => repository(image.name) === wanted) : undefined;
}

function repository(image: string): string {
  const [bare = ""] = image.split("@");
  const slash = bare.lastIndexOf("/");
  const colon = bare.indexOf(":", slash + 1);
  return (colon < 0 ? bare : bare.slice(0, colon)).replace(/^docker\.io\/(library\/)?/, "");
}

/** New secrets of 192 bits, for those that the template makes anew for each lease. */
export function newSecrets(template: Template): Record<string, string> {
  return Object.fromEntries(
    template.secrets.map((name) => [name, bytesToHex(crypto.getRandomValues(new Uint8Array(24))).slice(2)]),
  );
}
