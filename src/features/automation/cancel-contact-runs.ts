import { toMailbox } from '../../engine/model/mailbox-key.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { advanceJob } from './jobs.ts'
import { MAILBOX_ID_SQL, putItems } from './store/mailbox-store.ts'

type ActiveRun = { id: string; conversationId: string | null; contactId: string | null; mailboxRunId: string | null }

/** Requests the cancellation of the active runs of a contact that was blocked. A worker cancels them. */
export async function cancelContactRuns(tx: Scope, contactId: string): Promise<void> {
  const runs = await tx.sql<ActiveRun>('listContactRuns')`
    select id, conversation_id, contact_id, mailbox_run_id from runs
    where tenant_id = ${tx.tenantId} and status in ('queued', 'running', 'waiting') and ${MAILBOX_ID_SQL} = any(
      array(select id from conversations where tenant_id = ${tx.tenantId} and contact_id = ${contactId}) || ${contactId}::uuid)
    order by id`
  if (runs.length === 0) return
  await putItems(
    tx,
    runs.map((run) => ({ id: newId(), mailbox: toMailbox(run), kind: 'cancel', payload: { runId: run.id } })),
  )
  tx.enqueue(advanceJob(tx.tenantId))
}
