import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { dataDirectory } from '../src/platform/embedded-postgres/data-directory.ts'
import { isLiveProcess, processIdentity } from '../src/platform/embedded-postgres/pid-files.ts'
import { stopPostmaster } from '../src/platform/embedded-postgres/stop-postmaster.ts'

/** Not the prefix of other temporary folders: what removes those cannot unmount. */
const PREFIX = 'parley-chaos-'
const SIZE_BYTES = 2 * 1024 ** 3
const FILL_ATTEMPTS_MAX = 20
const SPARE_BLOCKS = 8

/** A file system in memory of limited size. It is filled by reducing its size to what is used. */
export class LimitedDisk {
  readonly path: string

  private constructor(folder: string) {
    this.path = folder
  }

  /** Mounts the file system, or returns the reason why that is not possible. */
  static async mount(): Promise<LimitedDisk | string> {
    if (process.platform !== 'linux') return 'a file system of limited size can be mounted on Linux only'
    if (process.getuid?.() !== 0) return 'only root can mount a file system of limited size'
    await removeAbandonedDisks()
    const folder = path.join(os.tmpdir(), `${PREFIX}${processIdentity()}.${randomBytes(4).toString('hex')}`)
    fs.mkdirSync(folder)
    const { status, stderr } = mount('-t', 'tmpfs', '-o', `size=${SIZE_BYTES},mode=711`, 'tmpfs', folder)
    if (status === 0) return new LimitedDisk(folder)
    fs.rmdirSync(folder)
    return `the file system could not be mounted: ${String(stderr).trim()}`
  }

  /** Leaves a few pages free at most. The server may write between the two steps, so several attempts may be needed. */
  fill(): void {
    for (let attempt = 0; attempt < FILL_ATTEMPTS_MAX; attempt += 1) {
      const { blocks, bfree, bsize } = fs.statfsSync(this.path)
      if (this.#resize((blocks - bfree + attempt * SPARE_BLOCKS) * bsize)) return
    }
    throw new Error(`The size of ${this.path} could not be reduced`)
  }

  free(): void {
    if (!this.#resize(SIZE_BYTES)) throw new Error(`The size of ${this.path} could not be restored`)
  }

  remove(): Promise<void> {
    return removeDisk(this.path)
  }

  #resize(bytes: number): boolean {
    return mount('-o', `remount,size=${bytes}`, this.path).status === 0
  }
}

/** Removes the file systems and servers of chaos tests that were killed. */
async function removeAbandonedDisks(): Promise<void> {
  for (const name of fs.readdirSync(os.tmpdir())) {
    if (!name.startsWith(PREFIX) || isLiveProcess(name.slice(PREFIX.length))) continue
    await removeDisk(path.join(os.tmpdir(), name))
  }
}

async function removeDisk(folder: string): Promise<void> {
  await stopPostmaster(dataDirectory(folder))
  spawnSync('umount', ['--lazy', folder])
  fs.rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
}

function mount(...args: string[]) {
  return spawnSync('mount', args, { encoding: 'utf8' })
}
