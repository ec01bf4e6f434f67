import { Message as MessageRow } from '../../models/messaging.ts'
import { insertRowsSql } from '../../platform/database/statements/recordset.ts'
import { sqlFragment, type SqlFragment, sqlText } from '../../platform/database/statements/statement.ts'
import { ConflictError } from '../../platform/errors.ts'
import { forEachTenant } from '../../platform/jobs/for-each-tenant.ts'
import { DUE_AT_ONCE } from '../../platform/time.ts'
import { isOpenSql } from '../../scope/deleted-workspaces.ts'
import { isOfNoDeletedContactSql } from '../../scope/deleted-contacts.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { lockMessages, sortForLocking } from '../automation/lock-order.ts'
import { REOPEN_SQL } from '../conversations/reopen.ts'
import type { Message } from '../conversations/schema.ts'
import { allowsSql, messageEvent, STATUS_CHANGES, statusSql } from '../outbound/message-status.ts'
import { announceQueued, enqueueDelivery, type QueuedMessage } from '../outbound/queue-messages.ts'
import type { MessageRef } from './schema.ts'

const BATCH = 500

type DueMessage = { id: string; conversationId: string }

export function scheduledMessagesSql(before: Date): SqlFragment {
  return sqlFragment`select tenant_id from messages where release_at <= ${before}`
}

/**
 * Puts the scheduled messages whose time has come into the outbox, tenant by tenant. Several processes may do so at
 * once: a message leaves its status `scheduled` once.
 */
export async function releaseScheduledMessages(system: SystemScope): Promise<void> {
  const tenants = await system.acrossTenants<{ tenantId: string }>('listTenantsWithDueMessages')`
    select distinct tenant_id from (${scheduledMessagesSql(system.now())}) due`
  await forEachTenant(tenants, { log: system.log, task: 'release scheduled messages' }, (tenantId) =>
    system.forTenant(tenantId).transaction(release),
  )
}

/**
 * Cancels a message before its time.
 * @throws ConflictError `message_not_scheduled`
 */
export function cancelMessage(scope: Scope, { messageId }: MessageRef): Promise<Message> {
  return scope.transaction(async (tx) => {
    const { status, conversationId, contactId } = await tx.lock(MessageRow, messageId)
    if (status !== 'scheduled') {
      throw new ConflictError(
        'message_not_scheduled',
        `The message is ${status}. Only a scheduled message can be canceled, before its time`,
      )
    }
    const { to } = STATUS_CHANGES.cancelScheduled
    await tx.query(MessageRow).findOne('id', messageId).patch({ status: to, releaseAt: null, updatedAt: tx.now() })
    await tx.record(messageEvent('message.canceled', { messageId, conversationId, contactId }))
    return tx.get(MessageRow, messageId)
  })
}

async function release(tx: Scope): Promise<void> {
  const { tenantId } = tx
  const now = tx.now()
  const due = await tx.sql<DueMessage>('listDueMessages')`
    select m.id, m.conversation_id from messages m where m.tenant_id = ${tenantId} and m.release_at <= ${now}
      and ${isOpenSql(tenantId)} and ${isOfNoDeletedContactSql(tenantId, 'm')}
    order by m.release_at limit ${BATCH}`
  const conversationIds = due.map(({ conversationId }) => conversationId)
  const locked = await tx.sql<{ id: string }>('lockConversations')`
    select id from conversations where tenant_id = ${tenantId} and id = any(${conversationIds}) order by id for no key update`
  // Those of a deleted contact have no conversation any more.
  const existing = new Set(locked.map(({ id }) => id))
  const ids = due.filter(({ conversationId }) => existing.has(conversationId)).map(({ id }) => id)
  await lockMessages(tx, ids)
  const released = await tx.sql<QueuedMessage>('releaseMessages')`
    update messages m set ${sqlText(statusSql('release'))}, release_at = null, updated_at = ${now}
    where m.tenant_id = ${tenantId} and m.id = any(${ids}) and ${sqlText(allowsSql('release'))}
    returning m.id, m.conversation_id, m.contact_id, m.channel_id, m.body, m.content, m.category`
  if (released.length === 0) return
  const messages = sortForLocking(released, ({ id }) => id)
  const outbox = messages.map(({ id: messageId, channelId, conversationId }) => ({
    channelId,
    conversationId,
    messageId,
    notBefore: DUE_AT_ONCE,
    createdAt: now,
  }))
  await Promise.all([
    tx.sql('enterOutbox')`${insertRowsSql('outbox', tenantId, outbox)}`,
    tx.sql('reopenConversations')`
      update conversations set ${sqlText(REOPEN_SQL)}, updated_at = ${now}
      where tenant_id = ${tenantId} and id = any(${messages.map(({ conversationId }) => conversationId)})
        and status <> 'active'`,
    announceQueued(tx, messages),
  ])
  await enqueueDelivery(tx, messages)
}
