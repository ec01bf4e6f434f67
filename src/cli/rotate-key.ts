import { type Config, loadConfig, readEnvironment } from '../config.ts'
import { closeDatabase, openDatabase } from '../platform/database/database.ts'
import { dataDirectory } from '../platform/embedded-postgres/data-directory.ts'
import { listLivePidFiles } from '../platform/embedded-postgres/pid-files.ts'
import { exitOnSignals } from '../platform/process/read-command.ts'
import { addSecretKey, removeOldSecretKeys } from '../platform/security/secret-key-file.ts'
import { Secrets } from '../platform/security/secrets.ts'
import { MINUTE } from '../platform/time.ts'
import { assertMigrated, withConfiguredDatabase } from './configured-database.ts'
import { type Resealed, resealAll } from './reseal.ts'
import { ProblemError } from './workflow-files.ts'

/**
 * Seals all stored secrets with the first key of SECRET_KEYS, and returns true if the others are not needed any more. Without
 * keys in the settings it replaces the generated key in DATA_DIR.
 */
export async function rotateKey({ isJson }: { isJson: boolean }): Promise<boolean> {
  exitOnSignals()
  const config = loadConfig(readEnvironment())
  const { secretKeys, dataDir } = config
  if (!secretKeys) assertStopped(config)
  const resealed = await withConfiguredDatabase(config, async (database) => {
    await assertMigrated(database)
    const secrets = new Secrets(secretKeys ?? (await addSecretKey(dataDir)))
    const db = openDatabase(database.sessionUrl, { connections: 1, statementTimeoutMs: MINUTE, name: 'parley rotate' })
    try {
      return await resealAll(db, secrets)
    } finally {
      await closeDatabase(db)
    }
  })
  if (resealed.isComplete && !secretKeys) await removeOldSecretKeys(dataDir)
  process.stdout.write(isJson ? `${JSON.stringify(resealed)}\n` : describe(resealed, secretKeys !== undefined))
  return resealed.isComplete
}

/** Processes read the file of the key when they start. */
function assertStopped({ dataDir }: Config): void {
  if (listLivePidFiles(dataDirectory(dataDir).clients).length === 0) return
  throw new ProblemError(
    `Parley uses ${dataDir}. Stop it first: its processes do not know the new key, which replaces the one in this folder`,
  )
}

function describe({ tables, isComplete }: Resealed, isConfigured: boolean): string {
  const entries = Object.entries(tables)
  const lines = entries.flatMap(([table, { resealed, unreadable }]) => [
    `${table}: ${resealed} encrypted again${unreadable > 0 ? `, ${unreadable} unreadable` : ''}`,
  ])
  const isReadable = entries.every(([, { unreadable }]) => unreadable === 0)
  const keys = isConfigured ? 'SECRET_KEYS' : 'the file secret-key'
  if (isComplete)
    lines.push(
      isConfigured
        ? 'Everything is encrypted with the first key. The others are not needed to decrypt what is stored.'
        : 'Everything is encrypted with a new key, and the old one was removed from the file secret-key.',
    )
  else if (isReadable)
    lines.push('Other processes still encrypt with an old key. Restart them with the new key first in SECRET_KEYS.')
  else
    lines.push(
      `What is unreadable was encrypted with a key that is not in ${keys}. Add it, or enter the secrets again.`,
    )
  return lines.map((line) => `${line}\n`).join('')
}
