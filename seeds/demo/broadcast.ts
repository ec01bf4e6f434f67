import type { Knex } from 'knex'
import { addMs, DAY, MINUTE } from '../../src/platform/time.ts'
import { CONTACTS } from './contacts.ts'
import { DEMO, demoId } from './ids.ts'

const STATUSES = [
  'read',
  'read',
  'delivered',
  'sent',
  'failed',
  'skipped',
  'pending',
  'sending',
  'canceled',
  'unknown',
] as const

/** Inserts a broadcast that was paused half-way, with at least one recipient in every status. */
export async function seedBroadcast(tx: Knex, now: Date): Promise<void> {
  const tenant_id = DEMO.workspaceId
  const startedAt = addMs(now, -2 * DAY)
  const times = { created_at: addMs(startedAt, -DAY), updated_at: startedAt }
  const template = { tenant_id, id: DEMO.templateId, channel_id: DEMO.sandboxId, name: 'spring_sale', language: 'en' }
  const body = 'Hi {{name}}, our spring sale starts today. Everything green is 20 % off.'
  const example = { body_text_named_params: [{ param_name: 'name', example: 'Ana' }] }
  await tx('templates').insert({
    ...template,
    category: 'marketing',
    status: 'approved',
    body,
    components: JSON.stringify([{ type: 'BODY', text: body, example }]),
    parameter_format: 'named',
    ...times,
  })
  const counts: Record<string, number> = { total: STATUSES.length }
  for (const status of STATUSES) counts[status] = (counts[status] ?? 0) + 1
  await tx('broadcasts').insert({
    tenant_id,
    id: demoId('broadcast', 1),
    name: 'Spring sale',
    description: 'For customers who asked for news of the spring sale',
    status: 'paused',
    channel_id: DEMO.sandboxId,
    template_id: DEMO.templateId,
    params: JSON.stringify({ name: '{{contact.name}}' }),
    audience: JSON.stringify({ groupIds: [demoId('group', 3)] }),
    counts: JSON.stringify(counts),
    started_at: startedAt,
    ...times,
  })
  await tx('broadcast_recipients').insert(STATUSES.map((status, index) => recipientRow(status, index, startedAt)))
}

function recipientRow(status: (typeof STATUSES)[number], index: number, startedAt: Date) {
  const contact = CONTACTS[index] as (typeof CONTACTS)[number]
  const at = addMs(startedAt, index * MINUTE)
  const wasSent = ['sent', 'delivered', 'read'].includes(status)
  return {
    tenant_id: DEMO.workspaceId,
    id: demoId('recipient', index + 1),
    broadcast_id: demoId('broadcast', 1),
    contact_id: contact.id,
    address: contact.phone,
    status,
    skip_reason: status === 'skipped' ? 'opted_out' : null,
    error:
      status === 'failed' ? JSON.stringify({ code: 'undeliverable', message: 'This number is not on WhatsApp' }) : null,
    params: JSON.stringify({ name: contact.name }),
    attempt: status === 'pending' || status === 'skipped' || status === 'canceled' ? 0 : 1,
    sent_at: wasSent ? at : null,
    delivered_at: wasSent && status !== 'sent' ? addMs(at, MINUTE) : null,
    read_at: status === 'read' ? addMs(at, 5 * MINUTE) : null,
    failed_at: status === 'failed' ? at : null,
    created_at: startedAt,
    updated_at: at,
  }
}
