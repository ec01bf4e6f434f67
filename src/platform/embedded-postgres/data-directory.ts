import fs from 'node:fs'
import path from 'node:path'
import { createFolder } from '../create-folder.ts'
import { EmbeddedPostgresError, errorCode } from './embedded-postgres-error.ts'
import { type Account, runProgram } from './run-program.ts'

/** The paths of a cluster. Only `data` belongs to the server; the rest is ours. */
export type DataDirectory = {
  dataDir: string
  root: string
  data: string
  secret: string
  log: string
  port: string
  /** PID files of the processes that use the server. */
  clients: string
  /** PID files of the processes that want to start or stop it. */
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
    clients: inside('clients'),
    lock: inside('lock'),
  }
}

/** Creates the folder. Other accounts cannot read it; a server under another account can only enter it. */
export async function createDataDirectory(folder: DataDirectory): Promise<void> {
  const isRoot = process.getuid?.() === 0
  try {
    if ((await createFolder(folder.dataDir)) && isRoot) fs.chmodSync(folder.dataDir, 0o711)
    if (await createFolder(folder.root)) fs.chmodSync(folder.root, isRoot ? 0o711 : 0o700)
    fs.accessSync(folder.root, fs.constants.W_OK | fs.constants.X_OK)
  } catch (cause) {
    const isBelowFile = ['ENOTDIR', 'EEXIST'].includes(errorCode(cause) ?? '')
    throw new EmbeddedPostgresError(
      isBelowFile
        ? `${folder.root} cannot be the folder of the database, as it or a part of its path is a file. Set DATA_DIR to a folder.`
        : `Parley cannot write to ${folder.root}, the folder of its database. ` +
            `Give the folder to the account that runs Parley, or set DATA_DIR to another one.`,
      { cause },
    )
  }
}

/**
 * Chooses the account of the server, as PostgreSQL does not run as root. For a process of root this is the owner of the
 * existing cluster, else `postgres`, else `nobody`. Undefined: the account of this process.
 */
export function serverAccount(folder: DataDirectory): Account | undefined {
  if (process.getuid?.() !== 0) return undefined
  for (const name of [folder.data, folder.root]) {
    const { uid, gid } = fs.statSync(name, { throwIfNoEntry: false }) ?? { uid: 0, gid: 0 }
    if (uid !== 0) return { uid, gid }
  }
  const account = findAccount('postgres') ?? findAccount('nobody')
  if (account) return account
  throw new EmbeddedPostgresError(
    'PostgreSQL does not run as root, and this system has neither an account named postgres nor one named nobody. ' +
      'Start Parley as an ordinary user, or set DATABASE_URL to a PostgreSQL server of your own.',
  )
}

/** Gives a file that root created to the account that owns the folder. */
export function giveToOwner(folder: DataDirectory, file: number): void {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = fs.statSync(folder.root)
  fs.fchownSync(file, uid, gid)
}

export function hasCluster(folder: DataDirectory): boolean {
  return fs.existsSync(folder.data)
}

/** @throws EmbeddedPostgresError when the server's account cannot enter the folder */
export async function assertReachable(folder: DataDirectory, account: Account, env: NodeJS.ProcessEnv): Promise<void> {
  for (const ancestor of listAncestors(folder.root)) {
    const { code } = await runProgram('/bin/sh', ['-c', 'cd "$0"', ancestor], { env, account })
    if (code === 0) continue
    throw new EmbeddedPostgresError(
      `PostgreSQL does not run as root, and the account it runs as instead (uid ${account.uid}) cannot enter ${ancestor}. ` +
        `Set DATA_DIR to a folder outside of it, such as /var/lib/parley, or start Parley as an ordinary user, ` +
        `or set DATABASE_URL to a PostgreSQL server of your own.`,
    )
  }
}

/** Returns true if two paths lead to the same folder, however they are spelled or mounted. */
export function isSameFolder(a: string, b: string): boolean {
  try {
    return folderIdentity(a) === folderIdentity(b)
  } catch {
    return false
  }
}

function folderIdentity(name: string): string {
  const { dev, ino } = fs.statSync(name, { bigint: true })
  return `${dev}:${ino}`
}

function listAncestors(name: string): string[] {
  const parent = path.dirname(name)
  return parent === name ? [name] : [...listAncestors(parent), name]
}

function findAccount(name: string): Account | undefined {
  const entries = fs.existsSync('/etc/passwd') ? fs.readFileSync('/etc/passwd', 'utf8').split('\n') : []
  const fields = entries.map((line) => line.split(':')).find(([login]) => login === name)
  const [uid, gid] = [Number(fields?.[2]), Number(fields?.[3])]
  return uid > 0 && gid > 0 ? { uid, gid } : undefined
}
