import { randomInt } from 'node:crypto'
import fs from 'node:fs'
import net from 'node:net'
import { type DataDirectory, giveToOwner } from './data-directory.ts'
import { EmbeddedPostgresError } from '../embedded-postgres-error.ts'

/** Below the ephemeral ports, which outgoing connections could occupy between two starts. */
const [LOWEST, HIGHEST] = [20_000, 32_000]
const ATTEMPTS = 50

/**
 * Returns the port of the last start if it is free, so that processes that outlive the server find the next one; else a
 * new port, which is recorded for the next start.
 */
export async function choosePort(folder: DataDirectory): Promise<number> {
  const last = fs.existsSync(folder.port) ? Number(fs.readFileSync(folder.port, 'utf8')) : 0
  if (last > 0 && (await isFree(last))) return last
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const port = randomInt(LOWEST, HIGHEST)
    if (!(await isFree(port))) continue
    const file = fs.openSync(folder.port, 'w', 0o644)
    fs.writeSync(file, String(port))
    giveToOwner(folder, file)
    fs.closeSync(file)
    return port
  }
  throw new EmbeddedPostgresError(
    `There is no free port between ${LOWEST} and ${HIGHEST} on 127.0.0.1 for the database.`,
  )
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = net.createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}
