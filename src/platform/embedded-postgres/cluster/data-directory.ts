import fs from 'node:fs'
import path from 'node:path'
import { EmbeddedPostgresError } from '../embedded-postgres-error.ts'
import { type Account, runProgram } from '../run-program.ts'

/** Where everything of one cluster lies. Only `data` belongs to the server; the rest is ours. */
export type DataDirectory = {
  dataDir: string
  root: string
  data: string
  secret: string
  log: string
  port: string
  /** Marks of the processes that use the server. */
  holders: string
  /** Marks of the processes that want to start or stop it. */
  lock: string
}

export function dataDirectory(dataDir: string): DataDirectory {
  const root = path.resolve(dataDir, 'postgres')
  const inside = (name: string) => path.join(root, name)
  return {
    dataDir: path.resolve(dataDir),
    root,
    data: inside('data'),
    secret: inside('secret'),
    log: inside('postgres.log'),
    port: inside('port'),
    holders: inside('holders'),
    lock: inside('lock'),
  }
}

/** Makes the folder. Nobody but us may look inside, except that a server under another account must be able to pass. */
export function createDataDirectory(folder: DataDirectory): void {
  const isRoot = process.getuid?.() === 0
  try {
    if (fs.mkdirSync(folder.dataDir, { recursive: true }) !== undefined && isRoot) fs.chmodSync(folder.dataDir, 0o711)
    if (fs.mkdirSync(folder.root, { recursive: true }) !== undefined) fs.chmodSync(folder.root, isRoot ? 0o711 : 0o700)
    fs.accessSync(folder.root, fs.constants.W_OK | fs.constants.X_OK)
  } catch (cause) {
    throw new EmbeddedPostgresError(
      `Parley cannot write to ${folder.root}, where its database lives. ` +
        `Give the folder to the account that runs Parley, or set DATA_DIR to another one.`,
      { cause },
    )
  }
}

/** What root makes in somebody's folder stays usable for that account. */
export function giveToOwner(folder: DataDirectory, file: number): void {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = fs.statSync(folder.root)
  fs.fchownSync(file, uid, gid)
}

export function hasCluster(folder: DataDirectory): boolean {
  return fs.existsSync(folder.data)
}

/** Refuses a folder that the server's account cannot enter. */
export async function assertReachable(folder: DataDirectory, account: Account, env: NodeJS.ProcessEnv): Promise<void> {
  for (const ancestor of ancestors(folder.root)) {
    const { code } = await runProgram('/bin/sh', ['-c', 'cd "$0"', ancestor], { env, account })
    if (code === 0) continue
    throw new EmbeddedPostgresError(
      `PostgreSQL does not run as root, and the account it runs as instead (uid ${account.uid}) cannot enter ${ancestor}. ` +
        `Set DATA_DIR to a folder outside of it, such as /var/lib/parley, or start Parley as an ordinary user, ` +
        `or set DATABASE_URL to a PostgreSQL server of your own.`,
    )
  }
}

/** Whether two paths are one folder, however they are spelled or mounted. */
export function isSameFolder(one: string, other: string): boolean {
  try {
    return folderIdentity(one) === folderIdentity(other)
  } catch {
    return false
  }
}

function folderIdentity(name: string): string {
  const { dev, ino } = fs.statSync(name, { bigint: true })
  return `${dev}:${ino}`
}

function ancestors(name: string): string[] {
  const parent = path.dirname(name)
  return parent === name ? [name] : [...ancestors(parent), name]
}
