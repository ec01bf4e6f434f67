import type { Scope } from '../../scope/scope.ts'
import { getJob } from '../jobs/queries.ts'
import type { FollowJob, Job } from '../jobs/schema.ts'
import { EventItems } from './event-feed.ts'
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
  const events = await followEvents(scope, { after: lastEventId ?? null, types: TYPES, signal })
  return toJobChanges(scope, id, events)
}

async function* toJobChanges(
  scope: Scope,
  jobId: string,
  events: Awaited<ReturnType<typeof followEvents>>,
): AsyncGenerator<StreamItem<JobChange>> {
  for await (const item of events) {
    if (!('event' in item)) yield [item.cursor, { type: item.type }]
    else if (item.event.data['jobId'] === jobId) {
      const load = async (): Promise<JobChange> => ({ type: 'job', job: await getJob(scope, { jobId }) })
      yield [item.cursor, await ITEMS.get(item.event, '', load)]
    }
  }
}
