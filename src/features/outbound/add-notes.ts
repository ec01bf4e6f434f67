import { toRecordset } from '../../platform/database/sql.ts'
import type { Scope } from '../../scope/scope.ts'
import { messageEvent, type MessageRef } from './message-status.ts'

export type NewNote = {
  id: string
  conversationId: string
  body: string
  sender: { type: 'user' | 'workflow'; id: string | null; name: string | null }
  runId: string | null
  stepId: string | null
}

/** Stores internal notes as messages. They are sent to no channel and do not change the last message of the conversation. */
export async function addNotes(tx: Scope, notes: NewNote[]): Promise<void> {
  if (notes.length === 0) return
  const now = tx.now()
  const stored = await tx.sql<MessageRef>('addNotes')`
    insert into messages (tenant_id, id, conversation_id, contact_id, channel_id, direction, type, body, status, sender,
       run_id, step_id, created_at, updated_at)
     select ${tx.tenantId}::uuid, x.id, cv.id, cv.contact_id, cv.channel_id, 'internal', 'note', x.body, 'received', x.sender,
       x.run_id, x.step_id, ${now}, ${now}
     from jsonb_to_recordset(${toRecordset(notes)}::jsonb) as x
       (id uuid, conversation_id uuid, body text, sender jsonb, run_id uuid, step_id text)
     join conversations cv on cv.tenant_id = ${tx.tenantId} and cv.id = x.conversation_id
     returning id as message_id, conversation_id, contact_id`
  await tx.record(...stored.map((message) => messageEvent('message.noted', message)))
}
