import { createHash, randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { getField } from '../fields.ts'
import { createFolder } from '../create-folder.ts'
import type { DiskSpace } from './disk-space.ts'
import { FOLDER_MODE } from './file-store.ts'

/** File that was received into a temporary one. */
export type ReceivedFile = { path: string; bytes: number; sha256: string }

/** A file is larger than it may be. */
export class FileTooLargeError extends Error {
  override name = 'FileTooLargeError'
}

/** There is no room on the disk for a file, or too little for anything else. */
export class DiskFullError extends Error {
  override name = 'DiskFullError'
}

type ReceiveOptions = {
  folder: string
  bytesMax: number
  /** Size that the sender announces, if it does. */
  bytes?: number | undefined
  disk: Pick<DiskSpace, 'isLow'>
  signal?: AbortSignal
}

/** Bytes after which the disk is looked at again. */
const CHECKED_BYTES = 1024 * 1024

/**
 * Receives a stream into a temporary file, which exists while `work` runs and which `work` may move. Only a part of the
 * stream is in memory at any time. Whatever fails, nothing is left behind.
 * @throws FileTooLargeError, DiskFullError, or the error of the stream
 */
export async function receiveFile<T>(
  stream: Readable,
  { folder, bytesMax, bytes: announced = 0, disk, signal }: ReceiveOptions,
  work: (file: ReceivedFile) => Promise<T>,
): Promise<T> {
  const path = join(folder, randomUUID())
  const hash = createHash('sha256')
  let bytes = 0
  let checkedBytes = 0
  const meter = new Transform({
    transform(chunk: Buffer, _, done) {
      bytes += chunk.length
      if (bytes > bytesMax) return done(new FileTooLargeError(`The file is larger than ${bytesMax} bytes`))
      hash.update(chunk)
      if (bytes - checkedBytes < CHECKED_BYTES) return done(null, chunk)
      checkedBytes = bytes
      assertDiskFree(disk).then(() => done(null, chunk), done)
    },
  })
  try {
    if (announced > bytesMax) throw new FileTooLargeError(`The file is larger than ${bytesMax} bytes`)
    await assertDiskFree(disk)
    await createFolder(folder, FOLDER_MODE)
    await pipeline(stream, meter, createWriteStream(path, { flags: 'wx', mode: 0o600 }), signal ? { signal } : {})
    return await work({ path, bytes, sha256: hash.digest('hex') })
  } catch (error) {
    const isFull = ['ENOSPC', 'EDQUOT'].includes(String(getField(error, 'code')))
    throw isFull ? new DiskFullError('There is no room for the file', { cause: error }) : error
  } finally {
    // Nobody reads the rest of a stream that is refused.
    stream.on('error', () => undefined).destroy()
    await rm(path, { force: true })
  }
}

/** @throws DiskFullError */
async function assertDiskFree(disk: Pick<DiskSpace, 'isLow'>): Promise<void> {
  if (await disk.isLow()) throw new DiskFullError('The disk has little free space')
}
