import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { dataDirectory } from '../../src/platform/embedded-postgres/data-directory.ts'
import { isLiveProcess, processIdentity } from '../../src/platform/embedded-postgres/pid-files.ts'
import { stopPostmaster } from '../../src/platform/embedded-postgres/stop-postmaster.ts'

export type TempDir = { path: string; remove(): Promise<void> }

const PREFIX = 'parley-test-'
const FREE_BYTES_MIN = 2 ** 30

/**
 * Creates a folder, in memory where there is space. Its mode lets the account traverse it that a root process drops to. A
 * name is unique among the folders of this process.
 */
export function createTempDir(name = randomBytes(4).toString('hex')): TempDir {
  const folder = path.join(findTempRoot(), `${PREFIX}${processIdentity()}.${name}`)
  fs.mkdirSync(folder)
  fs.chmodSync(folder, 0o711)
  return { path: folder, remove: () => removeFolder(folder) }
}

/** Removes the folders and servers of test runs that were killed. */
export async function removeAbandonedTempDirs(): Promise<void> {
  for (const name of fs.readdirSync(findTempRoot())) {
    const folder = path.join(findTempRoot(), name)
    if (!name.startsWith(PREFIX) || isLiveProcess(name.slice(PREFIX.length))) continue
    if (fs.statSync(folder, { throwIfNoEntry: false })?.uid === process.getuid?.()) await removeFolder(folder)
  }
}

async function removeFolder(folder: string): Promise<void> {
  await stopPostmaster(dataDirectory(folder))
  fs.rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
}

function findTempRoot(): string {
  try {
    const { bavail, bsize } = fs.statfsSync('/dev/shm')
    if (bavail * bsize > FREE_BYTES_MIN) return '/dev/shm'
  } catch {
    // /dev/shm exists only on Linux.
  }
  return os.tmpdir()
}
