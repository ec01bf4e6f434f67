import { ZodError } from 'zod'
import type { NextItem } from '../../engine/mailbox/item.ts'
import { CorruptRunError } from '../../engine/model/corrupt-run-error.ts'
import type { Mailbox } from '../../engine/model/mailbox-key.ts'
import { type DeadLetter as DeadLetterRow, Run as RunRow } from '../../models/automation.ts'
import { Contact as ContactRow } from '../../models/contacts.ts'
import { Conversation as ConversationRow } from '../../models/messaging.ts'
import { sqlState } from '../../platform/database/database.ts'
import { AppError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import { count, metrics } from '../../platform/metrics.ts'
import type { Event } from '../../scope/event-types.ts'
import type { Scope } from '../../scope/scope.ts'
import { ATTEMPTS_MAX } from '../automation/store/mailbox-store.ts'

type FailedItem = { mailbox: Mailbox; item: NextItem; error: unknown }

export type Failure = { name: string; code: string; message: string }

const PATHS_MAX = 3

type Subject = Pick<DeadLetterRow, 'id' | 'contactId' | 'conversationId' | 'runId' | 'workflowId'>

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
  const [row] = await tx.sql<{ kind: string }>('storeDeadLetter')`
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
    from dead returning kind`
  if (row) count(metrics.deadLettersStored, { kind: row.kind })
  if (row) await tx.record(toEvent('created', { ...origin, workflowId, id: item.id }, tx))
  return row !== undefined
}

/**
 * Describes why an item could not be processed. Texts of unknown errors are left out, because they may quote data of the
 * customer or SQL; the log has them.
 */
export function describeFailure(error: unknown): Failure {
  if (error instanceof CorruptRunError) return describeFailure(error.cause)
  const name = error instanceof Error ? error.name : typeof error
  const state = sqlState(error)
  if (state !== undefined) return { name, code: state, message: `The database rejected a change (SQLSTATE ${state})` }
  if (error instanceof ZodError) return { name, code: 'invalid_item', message: describePaths(error) }
  if (error instanceof AppError) return { name, code: error.code, message: error.message }
  return { name, code: 'internal', message: 'The item could not be processed because of an internal error' }
}

/** Event of the life of a dead letter, with the user or API key that retried or discarded it. */
export function toEvent(
  change: 'created' | 'retried' | 'discarded',
  { id, contactId, conversationId, runId, workflowId }: Subject,
  { actor }: Pick<Scope, 'actor'>,
): Event {
  const userId = actor.type === 'user' ? actor.id : null
  const apiKeyId = actor.type === 'key' ? actor.id : null
  return {
    type: `dead_letter.${change}`,
    data: { deadLetterId: id, contactId, conversationId, runId, workflowId, userId, apiKeyId },
  }
}

type Origin = {
  contactId: string | null
  conversationId: string | null
  runId: string | null
  workflowId: string | null
}

/** Finds what an item belongs to, as far as it exists. `runIds`: the runs that it may be about, the likeliest first. */
async function findOrigin(tx: Scope, { kind, id }: Mailbox, runIds: string[]): Promise<Origin> {
  const conversation = kind === 'conversation' ? await tx.find(ConversationRow, id) : undefined
  const contact = kind === 'contact' ? await tx.find(ContactRow, id) : undefined
  const runs = await tx.query(RunRow).select('id', 'workflowId').whereIn('id', runIds)
  const [run] = runIds.flatMap((runId) => runs.find((existing) => existing.id === runId) ?? [])
  return {
    contactId: conversation?.contactId ?? contact?.id ?? null,
    conversationId: conversation?.id ?? null,
    runId: run?.id ?? null,
    workflowId: run?.workflowId ?? null,
  }
}

function describePaths({ issues }: ZodError): string {
  const paths = issues.slice(0, PATHS_MAX).map(({ path }) => path.join('.'))
  return `This item was written by an incompatible version: ${paths.join(', ')}. Discard it, or restore that version`
}
