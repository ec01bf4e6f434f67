import { loadConfig, readEnvironment } from '../src/config.ts'
import { toReportSource } from '../src/features/broadcasts/report/get-report.ts'
import { verifyReport } from '../src/features/broadcasts/report/verify-report.ts'
import { closeDatabase, openDatabase } from '../src/platform/database/database.ts'
import { resolveDatabase } from '../src/platform/database/resolve-database.ts'
import { createSqlTag } from '../src/platform/database/sql.ts'
import { isUuid } from '../src/platform/ids.ts'
import { exitOnSignals, readCommand } from '../src/platform/process/read-command.ts'

const USAGE = `Usage: npm run verify-broadcast -- <broadcastId>
Computes the report of a broadcast again from the stored rows and compares them. Exits with 1 if they differ.`

const [broadcastId = ''] = readCommand(USAGE, { names: ['broadcastId'] }).positionals
if (isUuid(broadcastId)) await verifyStored()
else fail(`"${broadcastId}" is not the ID of a broadcast`)

async function verifyStored(): Promise<void> {
  exitOnSignals()
  const { database, dataDir, environment } = loadConfig(readEnvironment())
  const server = await resolveDatabase({ ...database, dataDir, environment })
  try {
    await verify(server.sessionUrl)
  } finally {
    await server.close()
  }
}

async function verify(databaseUrl: string): Promise<void> {
  const db = openDatabase(databaseUrl)
  try {
    const [broadcast] = await createSqlTag<{ tenantId: string }>(db, 'findWorkspaceOfBroadcast')`
      select tenant_id from broadcasts where id = ${broadcastId}`
    if (!broadcast) return fail('There is no broadcast with this ID.')
    const { report, problems } = await verifyReport(toReportSource(db, broadcast.tenantId), broadcastId)
    process.stdout.write(`${JSON.stringify(report, null, 2)}\n`)
    if (problems.length > 0) return fail(`The rows differ from the report:\n${problems.join('\n')}`)
    process.stdout.write('The rows agree with the report.\n')
  } finally {
    await closeDatabase(db)
  }
}

function fail(message: string): void {
  process.stderr.write(`${message}\n`)
  process.exitCode = 1
}
