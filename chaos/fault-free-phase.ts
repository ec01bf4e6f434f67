import { setTimeout as delay } from 'node:timers/promises'
import { SECOND } from '../src/platform/time.ts'
import { withClient } from '../src/platform/embedded-postgres/connection.ts'
import type { AppProcess } from './app-process.ts'
import type { HangingChannels } from './hanging-channels.ts'
import type { LoadGenerator } from './load-generator.ts'
import { SEND_PLACES } from './compile-with-settings.ts'
import { listUnattachedStatuses } from './unattached-statuses.ts'
import type { Workspace } from './workspace.ts'

/** Places for sends of the process that is measured, fewer than the messages of the hanging channels. */
const PLACES = 12
/** Messages of each hanging channel, one after the other, and then the replies that are measured in each other workspace. */
const MEASURED = { rounds: 3, replies: 6 }
/** A job sends all that is due, so the messages of the next round come when these are on their way. */
const ROUND_MS = 400
/** Open requests by which the provider hangs. */
export const OPEN_REQUESTS_MIN = 2
/** A reply that takes longer counts with this time, and is the last one: the requests are still open then. */
const REPLY_MAX_MS = 5 * SECOND
/** A status that is not on its message for this time was forgotten. */
const ATTACHED_MAX_MS = 1.5 * SECOND

/** Times in ms until customers had their reply, in workspaces whose provider does not hang. */
export type FaultFreePhase = {
  calm: number[]
  /** The same while the provider of another workspace hangs. */
  hanging: number[]
  /** Requests that hung when these times were measured. */
  openRequests: number
  /** Statuses that nobody has put on their message. */
  unattached: string[]
}

type Parts = {
  load: LoadGenerator
  workspaces: Workspace[]
  hanging: HangingChannels
  /** The process that gets all webhooks and sends the replies. */
  process: AppProcess | undefined
  databaseUrl: string
}

/**
 * Measures replies while all processes run: first with calm providers, then while one hangs, after the same messages.
 * Nothing was killed, so no work may depend on the periodic tasks that repair what a killed process left behind.
 */
export async function measureFaultFree(parts: Parts): Promise<FaultFreePhase> {
  const { hanging, databaseUrl, process } = parts
  let isMeasured = false
  const watching = watchStatuses(databaseUrl, () => isMeasured)
  process?.changeEnvironment({ [SEND_PLACES]: String(PLACES) })
  // Processes that have just started take longer.
  await measureReplies(parts, { rounds: 1, replies: 3 })
  const calm = await measureReplies(parts, MEASURED)
  hanging.mode = 'never'
  const whileHanging = await measureReplies(parts, MEASURED)
  hanging.mode = 'at_once'
  process?.changeEnvironment({ [SEND_PLACES]: '' })
  isMeasured = true
  const unattached = await watching
  return { calm: calm.times, hanging: whileHanging.times, openRequests: whileHanging.openRequests, unattached }
}

async function measureReplies(
  { load, workspaces, hanging }: Parts,
  size: { rounds: number; replies: number },
): Promise<{ times: number[]; openRequests: number }> {
  for (let round = 0; round < size.rounds; round += 1) {
    await hanging.writeToAll(load)
    await delay(ROUND_MS)
  }
  const { openRequests } = hanging
  const times = await Promise.all(
    workspaces.map(async (workspace) => {
      const measured: number[] = []
      while (measured.length < size.replies && measured.at(-1) !== REPLY_MAX_MS)
        measured.push((await load.measureReplyIn(workspace, REPLY_MAX_MS)) ?? REPLY_MAX_MS)
      return measured
    }),
  )
  return { times: times.flat(), openRequests }
}

/** Looks at intervals, as a periodic task puts forgotten statuses on their message at some time. */
async function watchStatuses(databaseUrl: string, isDone: () => boolean): Promise<string[]> {
  return withClient(databaseUrl, async (client) => {
    const forgotten = new Set<string>()
    let before = new Set<string>()
    for (let isLast = false; !isLast;) {
      isLast = isDone()
      await delay(ATTACHED_MAX_MS)
      const unattached = await listUnattachedStatuses(client)
      for (const status of unattached) if (before.has(status)) forgotten.add(status)
      before = new Set(unattached)
    }
    return [...forgotten]
  })
}
