import { loadConfig } from '../src/config.ts'
import { clusterFolder } from '../src/platform/embedded-postgres/cluster-folder.ts'
import { APPLICATION, connectionString } from '../src/platform/embedded-postgres/connection.ts'
import { findLivePostmaster } from '../src/platform/embedded-postgres/postmaster.ts'

/** Prints the URL of the configured database, for psql and pg_dump. The embedded server must be running. */
const { database, dataDir } = loadConfig()
const folder = clusterFolder(dataDir)
const postmaster = findLivePostmaster(folder)

if (database.url !== undefined) {
  process.stdout.write(`${database.url}\n`)
} else if (postmaster) {
  process.stdout.write(`${connectionString(APPLICATION, 'parley', postmaster.port, folder)}\n`)
} else {
  process.stderr.write(`No database is running in ${folder.root}. Start Parley first.\n`)
  process.exitCode = 1
}
