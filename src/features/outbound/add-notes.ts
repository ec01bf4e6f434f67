import type { Scope } from '../../scope.ts'
import { messageEvent } from './claim-messages.ts'

export type NewNote = {
  id: string
  conversationId: string
  body: string
  sender: { type: 'user' | 'workflow'; id: string | null; name: string | null }
  runId: string | null
  stepId: string | null
}

/** Notes stand among the messages, go to no channel, and are not what a list of conversations shows last. */
export async function addNotes(tx: Scope, notes: NewNote[]): Promise<void> {
  if (notes.length === 0) return
  const { rows } = await tx.db.raw<{ rows: { messageId: string; conversationId: string; contactId: string }[] }>(
    `insert into messages (tenant_id, id, conversation_id, contact_id, channel_id, direction, type, body, status, sender,
       run_id, step_id, created_at, updated_at)
     select cv.tenant_id, x.id, cv.id, cv.contact_id, cv.channel_id, 'internal', 'note', x.body, 'received', x.sender,
       x."runId", x."stepId", :now, :now
     from jsonb_to_recordset(:given::jsonb) as x
       (id uuid, "conversationId" uuid, body text, sender jsonb, "runId" uuid, "stepId" text)
     join conversations cv on cv.tenant_id = :tenantId and cv.id = x."conversationId"
     returning id as "messageId", conversation_id as "conversationId", contact_id as "contactId"`,
    { given: JSON.stringify(notes), tenantId: tx.tenantId, now: tx.now() },
  )
  await tx.record(...rows.map((message) => messageEvent('message.noted', message)))
}
