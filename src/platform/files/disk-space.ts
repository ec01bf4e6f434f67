import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ExpiringCache } from '../concurrency/expiring-cache.ts'
import { getField } from '../fields.ts'
import type { Logger } from '../log.ts'
import { SECOND } from '../time.ts'

type FileSystem = { bsize: number; blocks: number; bavail: number }

export type DiskSpaceOptions = {
  folder: string
  /** Space that is kept free; undefined for 1 GB, or for 5 % of a disk of less than 20 GB. */
  freeBytesMin: number | undefined
  log: Pick<Logger, 'warn' | 'info'>
  /** Reads the state of the file system. */
  read?: (folder: string) => Promise<FileSystem>
  /** Within this time all files that are being received write less than what is kept free. */
  cachedMs?: number
}

const FREE_BYTES_MIN = 1024 ** 3
const FREE_PART_MIN = 0.05

/** The free space of the disk that a folder is on. */
export class DiskSpace {
  readonly #options: DiskSpaceOptions
  readonly #cache = new ExpiringCache({ entriesMax: 1 })
  #wasLow = false

  constructor(options: DiskSpaceOptions) {
    this.#options = options
  }

  /** Returns true if files must not be stored, so that the database on the same disk can still store rows. */
  isLow(): Promise<boolean> {
    return this.#cache.get('space', this.#options.cachedMs ?? SECOND, () => this.#read())
  }

  async #read(): Promise<boolean> {
    const { folder, freeBytesMin, read = readFolder } = this.#options
    if (freeBytesMin === 0) return false
    // Some file systems report nothing, and some platforms fail.
    const { bsize, blocks, bavail } = await read(folder).catch(() => ({ bsize: 0, blocks: 0, bavail: 0 }))
    const bytesMin = freeBytesMin ?? Math.min(FREE_BYTES_MIN, blocks * bsize * FREE_PART_MIN)
    const isLow = blocks > 0 && bavail * bsize < bytesMin
    this.#report(isLow, { freeBytes: bavail * bsize, freeBytesMin: Math.round(bytesMin) })
    return isLow
  }

  /** Logs changes only, and not each file that is refused. */
  #report(isLow: boolean, space: object): void {
    if (isLow === this.#wasLow) return
    this.#wasLow = isLow
    const { log } = this.#options
    if (isLow)
      log.warn(
        { event: 'disk_low', ...space },
        'the disk has little free space: no files are stored until there is more',
      )
    else log.info(space, 'the disk has enough free space: files are stored again')
  }
}

/** A folder that does not exist yet will be on the disk of the one that it is created in. */
async function readFolder(folder: string): Promise<FileSystem> {
  try {
    return await statfs(folder)
  } catch (error) {
    const parent = dirname(folder)
    if (getField(error, 'code') !== 'ENOENT' || parent === folder) throw error
    return readFolder(parent)
  }
}
