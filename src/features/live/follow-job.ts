import type { Scope } from '../../scope/scope.ts'
import { getJob } from '../jobs/queries.ts'
import type { FollowJob, Job } from '../jobs/schema.ts'
import { EventItems, type FeedEvent } from './event-feed.ts'
import { followEvents, type StreamItem, type StreamStart } from './follow-events.ts'

const TYPES = ['started', 'progress', 'completed', 'failed', 'canceled'].map((change) => `job.${change}`)

/** Current state of the job. */
export type JobChange = { type: 'job'; job: Job } | StreamStart

const ITEMS = new EventItems<JobChange>()

/** Follows the status and the counts of a job from `lastEventId`. */
export async function followJob(
  scope: Scope,
  { jobId, lastEventId }: FollowJob,
  signal: AbortSignal,
): Promise<AsyncGenerator<StreamItem<JobChange>>> {
  const { id } = await getJob(scope, { jobId })
  const isMatch = ({ data }: FeedEvent) => data['jobId'] === id
  return toJobChanges(
    scope,
    id,
    await followEvents(scope, { after: lastEventId ?? null, types: TYPES, signal, isMatch }),
  )
}

async function* toJobChanges(
  scope: Scope,
  jobId: string,
  events: Awaited<ReturnType<typeof followEvents>>,
): AsyncGenerator<StreamItem<JobChange>> {
  for await (const item of events) {
    if ('start' in item) yield [item.cursor, item.start]
    else {
      const load = async (): Promise<JobChange> => ({ type: 'job', job: await getJob(scope, { jobId }) })
      yield [item.cursor, await ITEMS.get(item.event, '', load)]
    }
  }
}
