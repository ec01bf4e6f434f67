import { maySendSql } from '../../src/features/channels/load-channel.ts'
import { releaseScheduledMessages } from '../../src/features/messages/scheduled-messages.ts'
import { reconcileOutbox } from '../../src/features/outbound/reconcile-outbox.ts'
import { enqueueDueCalls } from '../../src/features/external-calls/call-queue.ts'
import { enqueueDueMailboxes } from '../../src/features/automation/jobs.ts'
import { fireDueTimers } from '../../src/features/automation/fire-due-timers.ts'
import { enqueueDueBroadcasts } from '../../src/features/broadcasts/sending/run-broadcasts.ts'
import { enqueueDueWebhooks } from '../../src/features/webhook-endpoints/jobs.ts'
import { enqueueDueJobs } from '../../src/features/jobs/run-jobs.ts'
import { purgeDeletedContacts } from '../../src/features/contacts/delete-contact.ts'
import { fireSchedules } from '../../src/features/schedules/fire-schedules.ts'
import type { SystemScope } from '../../src/scope/system-scope.ts'
import { waitUntil } from './wait-until.ts'

/** Runs the periodic tasks of the dispatcher, then waits until the workers have no jobs left. */
export async function drainWork(system: SystemScope, hasEnded: () => boolean): Promise<void> {
  // A later task may create work for an earlier one, which the second round processes.
  for (let round = 0; round < 2; round += 1) {
    await fireSchedules(system)
    await fireDueTimers(system)
    await releaseScheduledMessages(system)
    await enqueueDueMailboxes(system)
    await reconcileOutbox(system)
    await enqueueDueCalls(system)
    await enqueueDueBroadcasts(system)
    await enqueueDueWebhooks(system)
    await enqueueDueJobs(system)
    await purgeDeletedContacts(system)
    await waitUntil(async () => hasEnded() && (await isIdle(system)) && hasEnded())
  }
}

async function isIdle(system: SystemScope): Promise<boolean> {
  const now = system.now()
  const [queue] = await system.sql<{ isBusy: boolean }>('isQueueBusy')`
    select exists (select from wakeups) as is_busy`
  if (queue?.isBusy !== false) return false
  const work = await Promise.all([
    system.acrossTenants('findDueSchedule')`select 1 from schedules where next_at <= ${now} limit 1`,
    system.acrossTenants('findDueItem')`
      select 1 from mailbox_items i where i.due_at <= ${now} and not exists (
        select 1 from mailbox_items failed where failed.tenant_id = i.tenant_id and failed.mailbox_id = i.mailbox_id
          and failed.retry_at > ${now} and failed.id < i.id) limit 1`,
    system.acrossTenants('findDueCall')`select 1 from external_calls where due_at <= ${now} limit 1`,
    system.acrossTenants('findContactPurge')`select 1 from contact_purges limit 1`,
    system.acrossTenants('findDueBroadcast')`select 1 from broadcasts where work_at <= ${now} limit 1`,
    system.acrossTenants('findDueJob')`select 1 from jobs where work_at <= ${now} limit 1`,
    system.acrossTenants('findDueMessage')`
      select 1 from outbox o join channels ch on ch.tenant_id = o.tenant_id and ch.id = o.channel_id
      where o.not_before <= ${now} and o.leased_at is null and ${maySendSql(now)} and not exists (
        select 1 from outbox earlier where earlier.tenant_id = o.tenant_id
          and earlier.conversation_id = o.conversation_id and earlier.message_id < o.message_id
          and earlier.not_before > ${now}) limit 1`,
  ])
  return work.every((rows) => rows.length === 0)
}
