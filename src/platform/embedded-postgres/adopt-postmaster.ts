import { setTimeout as delay } from 'node:timers/promises'
import { MINUTE } from '../time.ts'
import { type DataDirectory, isSameFolder } from './data-directory.ts'
import { ADMINISTRATOR, connectionString, withClient } from './connection.ts'
import { EmbeddedPostgresError, errorCode } from './embedded-postgres-error.ts'
import { findLivePostmaster, type Postmaster } from './postmaster.ts'

/** Recovery after a crash may take long; a server that is ready or stopping responds soon. */
const RECOVERY_WAIT_MS = 5 * MINUTE
const ANSWER_WAIT_MS = MINUTE

/**
 * Finds the server that already runs on this cluster, and verifies that it is this cluster's; undefined if there is none.
 * Waits for a server that is still starting or stopping.
 */
export async function adoptPostmaster(folder: DataDirectory): Promise<Postmaster | undefined> {
  const startedMs = performance.now()
  let connectionError: unknown
  for (;;) {
    const postmaster = findLivePostmaster(folder)
    if (!postmaster) return undefined
    if (postmaster.status === 'ready') {
      connectionError = await findConnectionError(postmaster, folder)
      if (connectionError === undefined) return postmaster
    }
    const waitMs = postmaster.status === 'starting' ? RECOVERY_WAIT_MS : ANSWER_WAIT_MS
    if (performance.now() - startedMs > waitMs) throw noResponseError(postmaster, folder, connectionError)
    await delay(20)
  }
}

/** Returns undefined if the server accepts our password and serves our folder. */
async function findConnectionError({ pid, port }: Postmaster, folder: DataDirectory): Promise<unknown> {
  const url = connectionString(ADMINISTRATOR, 'postgres', port, folder)
  try {
    const result = await withClient(url, (client) => client.query('show data_directory'))
    const directory: string = result.rows[0].data_directory
    if (isSameFolder(directory, folder.data)) return undefined
    throw new EmbeddedPostgresError(
      `Process ${pid} was expected to serve the database in ${folder.data}, but serves the one in ${directory}.`,
    )
  } catch (error) {
    if (error instanceof EmbeddedPostgresError) throw error
    if (errorCode(error) !== WRONG_PASSWORD) return error
    throw new EmbeddedPostgresError(
      `The server of ${folder.data} does not accept the secret in ${folder.secret}. Restore the original secret.`,
    )
  }
}

const WRONG_PASSWORD = '28P01'

function noResponseError({ pid, port }: Postmaster, folder: DataDirectory, cause: unknown): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `Process ${pid} uses the database in ${folder.data} but does not answer on port ${port}. See ${folder.log}. ` +
      `End that process and start again.`,
    { cause },
  )
}
