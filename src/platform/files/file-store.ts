import type { Readable } from 'node:stream'

/** Files of customers are for the user of the process only. */
export const FOLDER_MODE = 0o700

/** First and last byte of a part of a file, both included. */
export type ByteRange = { start: number; end: number }

/** Keeps files under keys such as `<workspace>/<id>`. */
export interface FileStore {
  /** Moves a local file into the store. The whole file appears under the key, or nothing. */
  put(key: string, path: string, file: { bytes: number; sha256: string }): Promise<void>
  /** Opens a file, or a part of it. @throws FileMissingError */
  open(key: string, range?: ByteRange): Promise<Readable>
  /** Deletes a file; deleting one that does not exist is harmless. */
  delete(key: string): Promise<void>
}

/** The store has no file under a key. */
export class FileMissingError extends Error {
  override name = 'FileMissingError'
}
