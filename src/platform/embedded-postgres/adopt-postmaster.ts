import { setTimeout as delay } from 'node:timers/promises'
import { MINUTE } from '../time.ts'
import { type DataDirectory, isSameFolder } from './cluster/data-directory.ts'
import { ADMINISTRATOR, connectionString, withClient } from './cluster/connection.ts'
import { EmbeddedPostgresError, errorCode } from './embedded-postgres-error.ts'
import { findLivePostmaster, type Postmaster } from './postmaster.ts'

/** Replaying the log after a crash takes as long as it takes; what is ready or stopping is soon done. */
const RECOVERY_WAIT_MS = 5 * MINUTE
const ANSWER_WAIT_MS = MINUTE

/**
 * The server that already runs on this cluster, once it is proven to be this cluster's; undefined when there is none.
 * One that is still starting is waited for, and so is one that is going away.
 */
export async function adoptPostmaster(folder: DataDirectory): Promise<Postmaster | undefined> {
  const beganMs = performance.now()
  let refusal: unknown
  for (;;) {
    const postmaster = findLivePostmaster(folder)
    if (!postmaster) return undefined
    if (postmaster.status === 'ready') {
      refusal = await findRefusal(postmaster, folder)
      if (refusal === undefined) return postmaster
    }
    const waitMs = postmaster.status === 'starting' ? RECOVERY_WAIT_MS : ANSWER_WAIT_MS
    if (performance.now() - beganMs > waitMs) throw unanswered(postmaster, folder, refusal)
    await delay(20)
  }
}

/** Undefined when it lets us in and works in our folder. */
async function findRefusal({ pid, port }: Postmaster, folder: DataDirectory): Promise<unknown> {
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
    throw new EmbeddedPostgresError(`The server of ${folder.data} does not accept the secret in ${folder.secret}.`)
  }
}

const WRONG_PASSWORD = '28P01'

function unanswered({ pid, port }: Postmaster, folder: DataDirectory, cause: unknown): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `Process ${pid} holds the database in ${folder.data} but does not answer on port ${port}; ${folder.log} tells why. ` +
      `End that process and start again.`,
    { cause },
  )
}
