import fs from 'node:fs'
import type { DataDirectory } from './data-directory.ts'
import { EmbeddedPostgresError } from '../embedded-postgres-error.ts'
import type { Account } from '../run-program.ts'

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

function findAccount(name: string): Account | undefined {
  const entries = fs.existsSync('/etc/passwd') ? fs.readFileSync('/etc/passwd', 'utf8').split('\n') : []
  const fields = entries.map((line) => line.split(':')).find(([login]) => login === name)
  const [uid, gid] = [Number(fields?.[2]), Number(fields?.[3])]
  return uid > 0 && gid > 0 ? { uid, gid } : undefined
}
