import { eraseDeletedAccounts } from './features/audit-events/erase-deleted-accounts.ts'
import { purgeExpiredSessions } from './features/auth/sessions/purge-expired-sessions.ts'
import { sendPasswordResets } from './features/auth/send-password-resets.ts'
import { reportDeadLetters } from './features/dead-letters/queries.ts'
import {
  dueBroadcastsSql,
  enqueueDueBroadcasts,
  recordProgress,
  runBroadcasts,
} from './features/broadcasts/sending/run-broadcasts.ts'
import { purgeMediaWrites } from './features/media/media-writes.ts'
import { releaseScheduledMessages, scheduledMessagesSql } from './features/messages/scheduled-messages.ts'
import { sendReadReceipt } from './features/messages/read-receipts.ts'
import { dueMediaSql, enqueueDueMedia, fetchMedia } from './features/media/fetch-media.ts'
import { contactsImport } from './features/contact-import/import-kind.ts'
import { deliverMessages } from './features/outbound/deliver-messages.ts'
import { dueOutboxSql, reconcileOutbox } from './features/outbound/reconcile-outbox.ts'
import { attachForgottenStatuses, purgeUnattachedStatuses } from './features/outbound/statuses/attach-early-statuses.ts'
import { executeCalls } from './features/external-calls/execute-calls.ts'
import { purgeThrottleWindows } from './features/external-calls/throttle-windows.ts'
import { dueCallsSql, enqueueDueCalls } from './features/external-calls/call-queue.ts'
import { numberUnfollowedEvents } from './features/events/number-events.ts'
import { purgeEvents } from './features/events/purge-events.ts'
import { purgeEvaluations } from './features/explanations/list-trigger-evaluations.ts'
import { purgeInvitations, sendInvitations } from './features/members/invitations/send-invitations.ts'
import { advanceMailboxes } from './features/execution/engine-port.ts'
import { dueWebhookCallsSql, retryWebhooks } from './features/inbound/retry-webhooks.ts'
import { purgeWebhooks } from './features/provider-webhooks/keep-webhooks.ts'
import { readBacklog } from './features/outbound/read-backlog.ts'
import { deleteExpired } from './features/retention/delete-expired.ts'
import {
  purgeApiKeys,
  purgeAuditEvents,
  purgeDeletedMessageIds,
  purgeIdempotencyKeys,
} from './features/retention/purge-rows.ts'
import { countDeltasSql, rollUpCounts } from './features/counts/maintain-counts.ts'
import { dueItemsSql, enqueueDueMailboxes, OVERDUE_MS } from './features/automation/jobs.ts'
import { dueTimersSql, fireDueTimers } from './features/automation/fire-due-timers.ts'
import { deliverEvents } from './features/webhook-endpoints/deliver-events.ts'
import { purgeDeletedEndpoints, purgeDeliveries } from './features/webhook-endpoints/deliveries.ts'
import { dueEndpointsSql, enqueueDueWebhooks } from './features/webhook-endpoints/jobs.ts'
import { webhooksRecover } from './features/webhook-endpoints/recover-events.ts'
import { sendDisabledEmails } from './features/webhook-endpoints/send-disabled-emails.ts'
import type { JobKind, JobKinds } from './features/jobs/job-kind.ts'
import { purgeJobs } from './features/jobs/purge-jobs.ts'
import { dueJobsSql, enqueueDueJobs, runJobs } from './features/jobs/run-jobs.ts'
import { isUrgent } from './features/jobs/schema.ts'
import { runsCancel } from './features/run-jobs/cancel-runs.ts'
import { runsReplay } from './features/run-jobs/replay-runs.ts'
import { dueSchedulesSql, fireSchedules } from './features/schedules/fire-schedules.ts'
import { contactPurgesSql, purgeDeletedContacts } from './features/contacts/delete-contact.ts'
import { purgeDeletedWorkspaces } from './features/workspaces/purge-deleted-workspaces.ts'
import type { PeriodicTask } from './platform/jobs/periodic-tasks.ts'
import type { Task, Tasks } from './platform/jobs/job-queue.ts'
import { joinFragments, sqlFragment } from './platform/database/statements/statement.ts'
import { addMs, MINUTE, SECOND } from './platform/time.ts'
import type { SystemScope } from './scope/system-scope.ts'

/** Kinds of jobs of the API, by their types. */
const LISTED_KINDS: JobKind[] = [contactsImport, runsCancel, runsReplay, webhooksRecover]
const URGENT_KINDS = toMap(LISTED_KINDS.filter(({ type }) => isUrgent(type)))
const OTHER_KINDS = toMap(LISTED_KINDS.filter(({ type }) => !isUrgent(type)))

function toMap(kinds: JobKind[]): JobKinds {
  return new Map(kinds.map((kind) => [kind.type, kind]))
}

/** Task handlers by the name of their jobs. Those of a deleted workspace do nothing. */
export function createTasks(system: SystemScope): Tasks {
  const tasks: Tasks = {
    advance: (job, control) => advanceMailboxes(system, job, control),
    deliver: (job, control) => deliverMessages(system, job, control),
    broadcast: (job, control) => runBroadcasts(system, job, control?.signal),
    'run-jobs': (job, control) => runJobs(system, OTHER_KINDS, job, control?.signal),
    'run-urgent-jobs': (job, control) => runJobs(system, URGENT_KINDS, job, control?.signal),
    execute: (job, control) => executeCalls(system, job, control),
    'fetch-media': (job, control) => fetchMedia(system, job, control?.signal),
    'send-read-receipt': (job) => sendReadReceipt(system, job, { showsTyping: false }),
    'deliver-webhooks': (job, control) => deliverEvents(system, job, control),
    'show-typing': (job) => sendReadReceipt(system, job, { showsTyping: true }),
  }
  const ofOpen =
    (task: Task): Task =>
    async (job, control) => {
      if (!system.deletedWorkspaces.has(job.tenantId)) await task(job, control)
    }
  return Object.fromEntries(Object.entries(tasks).map(([name, task]) => [name, ofOpen(task)]))
}

/** Work that is repeated, without a job. */
export function periodicTasks(system: SystemScope): PeriodicTask[] {
  return [...tasksOfDueRows(system), ...otherTasks(system)]
}

/** Those that find due rows of all workspaces. */
function tasksOfDueRows(system: SystemScope): PeriodicTask[] {
  return [
    { name: 'fire schedules', everyMs: SECOND, run: () => fireSchedules(system), due: dueSchedulesSql },
    { name: 'fire due timers', everyMs: SECOND, run: () => fireDueTimers(system), due: dueTimersSql },
    {
      name: 'release scheduled messages',
      everyMs: SECOND,
      run: () => releaseScheduledMessages(system),
      due: scheduledMessagesSql,
    },
    {
      name: 'enqueue due mailboxes',
      everyMs: 2 * SECOND,
      run: () => enqueueDueMailboxes(system, OVERDUE_MS),
      due: dueItemsSql,
    },
    {
      name: 'reconcile outbox',
      everyMs: 2 * SECOND,
      run: () => reconcileOutbox(system, OVERDUE_MS),
      due: dueOutboxSql,
    },
    { name: 'enqueue due external calls', everyMs: 5 * SECOND, run: () => enqueueDueCalls(system), due: dueCallsSql },
    { name: 'enqueue due media', everyMs: 5 * SECOND, run: () => enqueueDueMedia(system), due: dueMediaSql },
    { name: 'enqueue due webhooks', everyMs: 2 * SECOND, run: () => enqueueDueWebhooks(system), due: dueEndpointsSql },
    { name: 'retry webhooks', everyMs: 5 * SECOND, run: () => retryWebhooks(system), due: dueWebhookCallsSql },
    { name: 'roll up counts', everyMs: 5 * SECOND, run: () => rollUpCounts(system), due: countDeltasSql },
    {
      name: 'enqueue due broadcasts',
      everyMs: SECOND / 4,
      run: () => enqueueDueBroadcasts(system),
      due: dueBroadcastsSql,
    },
    { name: 'enqueue due jobs', everyMs: SECOND, run: () => enqueueDueJobs(system), due: dueJobsSql },
    {
      name: 'roll up broadcast counts',
      everyMs: SECOND,
      run: () => rollUpCounts(system, 'recipients'),
      due: countDeltasSql,
    },
    { name: 'record progress', everyMs: SECOND, run: () => recordProgress(system), due: dueBroadcastsSql },
    {
      name: 'purge deleted contacts',
      everyMs: 2 * SECOND,
      run: () => purgeDeletedContacts(system),
      due: contactPurgesSql,
    },
  ]
}

function otherTasks(system: SystemScope): PeriodicTask[] {
  return [
    { name: 'send password resets', everyMs: SECOND, run: () => sendPasswordResets(system) },
    { name: 'send invitations', everyMs: SECOND, run: () => sendInvitations(system) },
    { name: 'read backlog', everyMs: 15 * SECOND, run: () => readBacklog(system), isOfProcess: true },
    { name: 'attach forgotten statuses', everyMs: MINUTE, run: () => attachForgottenStatuses(system) },
    { name: 'number events', everyMs: MINUTE, run: () => numberUnfollowedEvents(system) },
    { name: 'report dead letters', everyMs: MINUTE, run: () => reportDeadLetters(system) },
    { name: 'send webhook emails', everyMs: MINUTE, run: () => sendDisabledEmails(system) },
    { name: 'purge sessions', everyMs: 10 * MINUTE, run: () => purgeExpiredSessions(system) },
    { name: 'purge invitations', everyMs: 10 * MINUTE, run: () => purgeInvitations(system) },
    { name: 'delete expired', everyMs: 10 * MINUTE, run: () => deleteExpired(system) },
    { name: 'purge webhook deliveries', everyMs: 10 * MINUTE, run: () => purgeDeliveries(system) },
    // Each process learns from it which workspaces are deleted.
    {
      name: 'purge deleted workspaces',
      everyMs: 2 * SECOND,
      run: () => purgeDeletedWorkspaces(system),
      isOfProcess: true,
    },
    { name: 'purge webhook endpoints', everyMs: MINUTE, run: () => purgeDeletedEndpoints(system) },
    { name: 'purge events', everyMs: 10 * MINUTE, run: () => purgeEvents(system) },
    { name: 'purge unattached statuses', everyMs: 10 * MINUTE, run: () => purgeUnattachedStatuses(system) },
    { name: 'purge webhooks', everyMs: 10 * MINUTE, run: () => purgeWebhooks(system) },
    { name: 'purge media writes', everyMs: 10 * MINUTE, run: () => purgeMediaWrites(system) },
    { name: 'purge throttle windows', everyMs: 10 * MINUTE, run: () => purgeThrottleWindows(system) },
    { name: 'purge evaluations', everyMs: 10 * MINUTE, run: () => purgeEvaluations(system) },
    { name: 'purge jobs', everyMs: 10 * MINUTE, run: () => purgeJobs(system) },
    { name: 'purge deleted message IDs', everyMs: 10 * MINUTE, run: () => purgeDeletedMessageIds(system) },
    { name: 'purge audit events', everyMs: 10 * MINUTE, run: () => purgeAuditEvents(system) },
    { name: 'purge API keys', everyMs: 10 * MINUTE, run: () => purgeApiKeys(system) },
    { name: 'erase deleted accounts', everyMs: 10 * MINUTE, run: () => eraseDeletedAccounts(system) },
    { name: 'purge idempotency keys', everyMs: 10 * MINUTE, run: () => purgeIdempotencyKeys(system) },
  ]
}

/**
 * Returns true if one of the tasks has something to do by a time that is `aheadMs` away. It is one statement, as each one that
 * asks all shards of a distributed database takes long.
 */
export async function hasDueWork(
  system: SystemScope,
  tasks: readonly PeriodicTask[],
  aheadMs: number,
): Promise<boolean> {
  const before = addMs(system.now(), aheadMs)
  const parts = [...new Set(tasks.flatMap(({ due }) => due ?? []))].map(
    (due) => sqlFragment`select tenant_id from (${due(before)}) part`,
  )
  const found = await system.acrossTenants('findDueWork')`
    select 1 as found from (${joinFragments(parts, ' union all ')}) due limit 1`
  return found.length > 0
}
