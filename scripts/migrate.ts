import { loadConfig, readEnvironment } from '../src/config.ts'
import { describeStartError } from '../src/describe-start-error.ts'
import { toDatabaseUrlError } from '../src/platform/database/database-url.ts'
import { resolveDatabase } from '../src/platform/database/resolve-database.ts'
import { createLogger, createPrettyDestination } from '../src/platform/log.ts'
import { exitOnSignals, readCommand } from '../src/platform/process/read-command.ts'
import { migrate } from '../src/platform/database/migrate.ts'

/**
 * Applies the missing migrations to the configured database, before the processes of a new version start. Exits with 1 if
 * one fails; those before it stay applied. Starts the embedded server, if that is the database, and stops it again.
 */
async function main(): Promise<void> {
  readCommand('Usage: npm run migrate\nApplies the missing migrations to the configured database.')
  exitOnSignals()
  const { database, dataDir, environment, logLevel } = loadConfig(readEnvironment())
  const server = await resolveDatabase({ ...database, dataDir, environment })
  try {
    const applied = await migrate(server.sessionUrl, createLogger(logLevel, await createPrettyDestination()))
    for (const name of applied) process.stdout.write(`applied ${name}\n`)
    process.stdout.write(
      applied.length === 0 ? 'All migrations were applied before.\n' : 'All migrations are applied.\n',
    )
  } catch (error) {
    throw server.isEmbedded ? error : toDatabaseUrlError(error, server.sessionUrl)
  } finally {
    await server.close()
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${describeStartError(error)}\n`)
  process.exitCode = 1
})
