/** What is sealed, and to whom: CIDs, the workload's one form, templates, contact documents, age. */
export * from "./cid";
export { type Contact, type FetchDocument, readContact } from "./contact";
export { newIdentity, open, seal, sealTo } from "./seal";
export * from "./templates";
export { volumeKey, volumeKeyRequest } from "./volumes";
export { canonical, type DatasetMount, isPinned, type Output, type WorkloadFields } from "./workload";
