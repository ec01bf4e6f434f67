import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { flushFolder } from '../flush-folder.ts'
import type { Binaries } from './binaries.ts'
import { ADMINISTRATOR, derivePassword } from './connection.ts'
import { type DataDirectory, giveToOwner, hasCluster } from './data-directory.ts'
import { EmbeddedPostgresError } from './embedded-postgres-error.ts'
import { runProgram, type ProgramEnvironment } from './run-program.ts'

/** The first major with the built-in locale provider, without which the sort order would depend on the machine. */
const OLDEST_MAJOR = 17

/**
 * Creates the cluster beside its final path and moves it there when it is complete, so that a process killed halfway
 * leaves nothing that looks like a cluster. The caller has the boot lock.
 */
export async function initCluster(
  folder: DataDirectory,
  binaries: Binaries,
  options: ProgramEnvironment & { isDurable: boolean },
): Promise<void> {
  if (binaries.major < OLDEST_MAJOR) {
    throw new EmbeddedPostgresError(
      `PG_BIN_DIR contains PostgreSQL ${binaries.major}, but a new database needs ${OLDEST_MAJOR} or later.`,
    )
  }
  // initdb starts the server by a command of a shell, in double quotes, within which these characters have a meaning.
  if (process.platform !== 'win32' && /["$`]/.test(binaries.postgres)) {
    throw new EmbeddedPostgresError(
      `PostgreSQL cannot create a database from ${path.dirname(binaries.postgres)}, as the path contains ", $ or \`. ` +
        `Move Parley to another folder, or set PG_BIN_DIR to a copy of these programs, or use DATABASE_URL.`,
    )
  }
  await removeLeftovers(folder)
  createSecret(folder)
  const staging = `${folder.data}.${randomBytes(4).toString('hex')}`
  const passwordFile = `${staging}.password`
  writeOwnedFile(passwordFile, derivePassword(ADMINISTRATOR, folder), options)
  try {
    fs.mkdirSync(staging, { mode: 0o700 })
    if (options.account) fs.chownSync(staging, options.account.uid, options.account.gid)
    const { code, output } = await runProgram(binaries.initdb, initdbArguments(staging, passwordFile, options), options)
    if (code !== 0) {
      const isFull = output.includes('No space left on device')
      throw new EmbeddedPostgresError(
        `The database could not be created in ${folder.root}: ` +
          (isFull ? 'no space is left. A new database needs about 60 MB.' : output.trim()),
      )
    }
    fs.renameSync(staging, folder.data)
    // Without the new name, the next start would delete the cluster as a leftover.
    if (options.isDurable) flushFolder(folder.root)
  } finally {
    await removeLeftovers(folder)
  }
}

/** Reports a cluster of another major version more clearly than the server would. */
export function assertSameMajor(folder: DataDirectory, binaries: Binaries): void {
  if (!hasCluster(folder)) return
  const major = Number(fs.readFileSync(path.join(folder.data, 'PG_VERSION'), 'utf8'))
  if (major === binaries.major) return
  throw new EmbeddedPostgresError(
    `The database in ${folder.data} was created by PostgreSQL ${major}, but the programs are of PostgreSQL ${binaries.major}. ` +
      `Set PG_BIN_DIR to the programs of PostgreSQL ${major}, or set DATA_DIR to another folder, or use DATABASE_URL.`,
  )
}

function initdbArguments(data: string, passwordFile: string, { isDurable }: { isDurable: boolean }): string[] {
  return [
    `--pgdata=${data}`,
    `--username=${ADMINISTRATOR}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--no-instructions',
    // The server needs shared memory during initdb too, and containers may have little in /dev/shm.
    ...(process.platform === 'win32' ? [] : ['--set=dynamic_shared_memory_type=mmap']),
    ...(isDurable ? [] : ['--no-sync']),
  ]
}

/** Creates the secret and flushes it to disk before the cluster that depends on it is created. */
function createSecret(folder: DataDirectory): void {
  fs.rmSync(folder.secret, { force: true })
  const file = fs.openSync(folder.secret, 'wx', 0o600)
  fs.writeSync(file, randomBytes(32).toString('base64url'))
  giveToOwner(folder, file)
  fs.fsyncSync(file)
  fs.closeSync(file)
}

function writeOwnedFile(name: string, content: string, { account }: ProgramEnvironment): void {
  const file = fs.openSync(name, 'wx', 0o600)
  fs.writeSync(file, content)
  if (account) fs.fchownSync(file, account.uid, account.gid)
  fs.closeSync(file)
}

/** The program that creates a cluster writes for a moment after the process that started it was killed. */
const REMOVAL = { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }

async function removeLeftovers(folder: DataDirectory): Promise<void> {
  const prefix = `${path.basename(folder.data)}.`
  for (const name of fs.readdirSync(folder.root)) {
    if (name.startsWith(prefix)) await fs.promises.rm(path.join(folder.root, name), REMOVAL)
  }
}
