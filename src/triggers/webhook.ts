import { z } from 'zod'
import { templateText } from '../engine/language/definition/names.ts'
import { defineTrigger } from '../engine/model/trigger.ts'

const schema = z.strictObject({
  type: z.literal('webhook'),
  contact: z.strictObject({ phone: templateText, createIfMissing: z.boolean().default(false) }).optional(),
  /** Calls with the same key start one run. */
  dedupeKey: templateText.optional(),
})
export type WebhookTrigger = z.output<typeof schema>

export type WebhookStart = { type: 'webhook'; receivedAt: string }

/** Belongs to one workflow, which has one address, and starts it directly: no event matches it. */
export const webhook = defineTrigger({
  type: 'webhook',
  schema,
  duplicate: { code: 'duplicate_webhook', message: 'is a second webhook: a workflow has one' },
  /** Readable before there is a run. */
  roots: ['input', 'trigger', 'now'],
  texts: ({ contact, dedupeKey }) => [
    ...(contact ? [{ path: 'contact.phone', text: contact.phone }] : []),
    ...(dedupeKey === undefined ? [] : [{ path: 'dedupeKey', text: dedupeKey }]),
  ],
  recorded: ['receivedAt'] satisfies (keyof WebhookStart)[],
  matches: () => false,
})
