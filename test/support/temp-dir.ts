import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { dataDirectory } from '../../src/platform/embedded-postgres/cluster/data-directory.ts'
import { processToken } from '../../src/platform/embedded-postgres/pid-files.ts'
import { stopPostmaster } from '../../src/platform/embedded-postgres/stop-postmaster.ts'

export type TempDir = { path: string; remove(): Promise<void> }

const PREFIX = 'parley-test-'
const ROOM_BYTES = 2 ** 30

/** In memory where there is room. An account that a root process drops to may pass through it. */
export function createTempDir(): TempDir {
  const owner = `${process.pid}.${processToken(process.pid)}`
  const folder = path.join(roomiest(), `${PREFIX}${owner}.${randomBytes(4).toString('hex')}`)
  fs.mkdirSync(folder)
  fs.chmodSync(folder, 0o711)
  return { path: folder, remove: () => removeFolder(folder) }
}

/** Test runs that were killed leave servers behind, and their data in memory. */
export async function removeAbandonedTempDirs(): Promise<void> {
  for (const name of fs.readdirSync(roomiest())) {
    const folder = path.join(roomiest(), name)
    const [pid, token] = name.slice(PREFIX.length).split('.')
    if (!name.startsWith(PREFIX) || processToken(Number(pid)) === token) continue
    if (fs.statSync(folder, { throwIfNoEntry: false })?.uid === process.getuid?.()) await removeFolder(folder)
  }
}

async function removeFolder(folder: string): Promise<void> {
  await stopPostmaster(dataDirectory(folder), () => Promise.reject(new Error('Stop it by hand.')))
  fs.rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
}

function roomiest(): string {
  try {
    const { bavail, bsize } = fs.statfsSync('/dev/shm')
    if (bavail * bsize > ROOM_BYTES) return '/dev/shm'
  } catch {
    // Only Linux has it.
  }
  return os.tmpdir()
}
