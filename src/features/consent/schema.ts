import { z } from 'zod'
import { id, page, text, timestamp, timestampInput } from '../../trpc/schemas.ts'

const purpose = z.enum(['marketing', 'service']).meta({
  description:
    '`marketing`: templates of this category. `service`: all templates and all automated messages; a member may still reply by hand inside the service window',
})
const state = z.enum(['unknown', 'opted_in', 'opted_out'])

export const ConsentEntry = z
  .object({
    id,
    purpose,
    state,
    source: z.enum(['api', 'keyword', 'import', 'workflow', 'provider', 'manual']),
    actor: z.object({ type: z.string(), id: id.nullable(), name: z.string().nullable() }).meta({
      description: 'The one who changed it: a user, a workflow, the contact itself by a keyword, or the provider',
    }),
    text: z.string().nullable().meta({ description: 'The text that the contact saw or wrote' }),
    keyword: z.string().nullable(),
    channelId: id.nullable(),
    messageId: id.nullable(),
    at: timestamp,
  })
  .meta({ id: 'ConsentEntry' })
export type ConsentEntry = z.infer<typeof ConsentEntry>

export const ContactConsent = z
  .object({
    contactId: id,
    at: timestamp.meta({ description: 'The time of the states: that of the request, or now' }),
    marketing: state,
    service: state,
    items: z.array(ConsentEntry).meta({ description: 'Entries of the ledger until then, newest first' }),
    total: z.int(),
  })
  .meta({ id: 'ContactConsent' })
export type ContactConsent = z.infer<typeof ContactConsent>

export const GetConsent = z.strictObject({
  contactId: id,
  at: timestampInput.optional().meta({ description: 'Returns the states and entries of this time; of now if absent' }),
  ...page,
})
export type GetConsent = z.infer<typeof GetConsent>

export const RecordConsent = z.strictObject({
  contactId: id,
  purpose,
  state: z.enum(['opted_in', 'opted_out']),
  text: text(2000)
    .optional()
    .meta({
      description: 'The text that the contact agreed to, as evidence',
      examples: ['I would like to receive offers by WhatsApp'],
    }),
  source: z.enum(['api', 'import', 'manual']).default('api'),
})
export type RecordConsent = z.infer<typeof RecordConsent>
