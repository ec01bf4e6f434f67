import type { NextItem } from '../../engine/mailbox/item.ts'
import { CorruptRunError } from '../../engine/model/corrupt-run-error.ts'
import type { Mailbox } from '../../engine/model/mailbox-key.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { ATTEMPTS_MAX } from '../automation/store/mailbox-store.ts'
import { describeFailure } from './describe-failure.ts'
import { toEvent } from './events.ts'

type FailedItem = { mailbox: Mailbox; item: NextItem; error: unknown }

/**
 * Moves an item that failed at its last attempt from its mailbox to the dead letters. The caller holds the lock of the
 * mailbox, so its owner is not being deleted. Returns false if the item is no longer there.
 */
export async function storeDeadLetter(tx: Scope, { mailbox, item, error }: FailedItem): Promise<boolean> {
  const corrupt = error instanceof CorruptRunError ? error : undefined
  const runIds = [...(item.runId === null ? [] : [item.runId]), ...(corrupt?.runIds ?? [])].filter(isUuid)
  const origin = await findOrigin(tx, mailbox, runIds)
  const workflowId = origin.workflowId ?? corrupt?.workflowId ?? null
  const now = tx.now()
  const { contactId, conversationId, runId } = origin
  const [row] = await tx.sql<{ id: string }>('storeDeadLetter')`
    with dead as (
      delete from mailbox_items
      where tenant_id = ${tx.tenantId} and mailbox_id = ${mailbox.id} and id = ${item.id} and due_at <= ${now}
        and attempts + 1 >= ${ATTEMPTS_MAX}
      returning id, mailbox_kind, mailbox_id, kind, payload, attempts, created_at)
    insert into dead_letters (tenant_id, id, mailbox_kind, mailbox_id, kind, payload, contact_id, conversation_id, run_id,
      workflow_id, error, attempts, created_at, failed_at)
    select ${tx.tenantId}::uuid, id, mailbox_kind, mailbox_id, kind, payload, ${contactId}::uuid, ${conversationId}::uuid,
      ${runId}::uuid, ${workflowId}::uuid, ${JSON.stringify(describeFailure(error))}::jsonb, attempts + 1, created_at,
      ${now}::timestamptz
    from dead returning id`
  if (row) await tx.record(toEvent('created', { ...origin, workflowId, id: item.id }, tx))
  return row !== undefined
}

type Origin = {
  contactId: string | null
  conversationId: string | null
  runId: string | null
  workflowId: string | null
}

/** Finds what an item belongs to, as far as it exists. `runIds`: the runs that it may be about, the likeliest first. */
async function findOrigin(tx: Scope, { kind, id }: Mailbox, runIds: string[]): Promise<Origin> {
  const [origin] = await tx.sql<Origin>('findOrigin')`
    select cv.id as conversation_id, coalesce(cv.contact_id, c.id) as contact_id, r.id as run_id, r.workflow_id
     from (select 1) one
     left join conversations cv on cv.tenant_id = ${tx.tenantId} and ${kind} = 'conversation' and cv.id = ${id}
     left join contacts c on c.tenant_id = ${tx.tenantId} and ${kind} = 'contact' and c.id = ${id}
     left join runs r on r.tenant_id = ${tx.tenantId} and r.id = any(${runIds}::uuid[])
     order by array_position(${runIds}::uuid[], r.id) limit 1`
  return origin ?? { contactId: null, conversationId: null, runId: null, workflowId: null }
}
