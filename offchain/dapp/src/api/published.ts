/** A gateway that whoever published the app names beside it. It is believed as little as any other. */
export interface PublishedGateway {
  readonly name: string;
  readonly address: string;
}

const MOST = 50;

/** The list that lies beside the app's files; empty where there is none, or it is something else. */
export async function fetchPublished(): Promise<readonly PublishedGateway[]> {
  const beside = new URL("./gateways.json", document.baseURI.split(/[?#]/)[0]);
  const response = await fetch(beside).catch(() => null);
  const listed: unknown = response?.ok ? await response.json().catch(() => null) : null;
  return Array.isArray(listed) ? listed.filter(isGateway).slice(0, MOST) : [];
}

function isGateway(value: unknown): value is PublishedGateway {
  const { name, address } = (value ?? {}) as Partial<PublishedGateway>;
  const short = [name, address].every((text) => typeof text === "string" && text.length > 0 && text.length < 200);
  return short && /^https?:/.test(address ?? "");
}
