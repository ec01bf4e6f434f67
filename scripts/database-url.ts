import { loadConfig, readEnvironment } from '../src/config.ts'
import { dataDirectory } from '../src/platform/embedded-postgres/data-directory.ts'
import { APPLICATION, connectionString } from '../src/platform/embedded-postgres/connection.ts'
import { findLivePostmaster } from '../src/platform/embedded-postgres/postmaster.ts'
import { readCommand } from '../src/platform/process/read-command.ts'

readCommand(`Usage: npm run --silent database-url
Prints the URL of the configured database, for psql and pg_dump. The embedded server must be running.`)

const { database, dataDir } = loadConfig(readEnvironment())
const folder = dataDirectory(dataDir)
const postmaster = findLivePostmaster(folder)

if (database.url !== undefined) {
  process.stdout.write(`${database.sessionUrl ?? database.url}\n`)
} else if (postmaster) {
  process.stdout.write(`${connectionString(APPLICATION, 'parley', postmaster.port, folder)}\n`)
} else {
  process.stderr.write(`No database is running in ${folder.root}. Start Parley first.\n`)
  process.exitCode = 1
}
