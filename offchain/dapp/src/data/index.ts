/** Data that goes into leases and comes out of them: sealed and opened in this browser, and named by what is in it. */
export type { Blocks } from "./dag";
export { type SealedDataset, sealDataset } from "./dataset";
export { type Book, type KeptDataset, KeyBook, keyBook } from "./keyBook";
export { type Picked, pickedDrop, pickedFiles } from "./picked";
export { type OpenedOutput, type Output, openOutput, type Results, readResults } from "./results";
export { recipientOf, resultsIdentity, resultsKey, resultsKeyRequest } from "./resultsKey";
export { memoryShelf, type Shelf, shelf } from "./shelf";
export { goOnStoring, type Storing, type StoringHands, storeDataset } from "./storing";
export { type Entry, type Member, TarReader, tarOf } from "./tar";
export { type Sending, sendUpload, type UploadPlace, type UploadStanding } from "./upload";
