import { z } from 'zod'
import { HEADER_MEDIA } from '../../../channels/templates/variables.ts'
import { id, text, timestampText } from '../../../trpc/schemas.ts'
import { phone } from '../../contacts/schema.ts'

const variable = z
  .string()
  .regex(/^[A-Za-z0-9][\w.]{0,63}$/, 'must be a name of up to 64 letters, digits, underscores and dots')
/** The most variables of a template that are filled in. */
export const PARAMS_MAX = 100

export const params = z
  .record(variable, text(1024))
  .refine((values) => Object.keys(values).length <= PARAMS_MAX, `must have at most ${PARAMS_MAX} entries`)
  .meta({
    description:
      'Variables of the template. Each value is a text that may contain placeholders such as {{contact.name}}',
  })

const RECIPIENTS_MAX = 10_000

const ids = {
  groupIds: z.array(id).max(100).optional(),
  tagIds: z.array(id).max(100).optional(),
  contactIds: z.array(id).max(1000).optional(),
}

const FIELDS_MAX = 100

const AudienceFilter = z
  .strictObject({
    marketingConsent: z.enum(['unknown', 'opted_in', 'opted_out']).optional(),
    language: text(35).optional(),
    country: text(2).optional(),
    fields: z
      .record(text(64), z.union([z.string().max(500), z.number(), z.literal([true, false]), z.null()]))
      .refine((values) => Object.keys(values).length <= FIELDS_MAX, `must have at most ${FIELDS_MAX} entries`)
      .optional()
      .meta({ description: 'Custom fields and their values' }),
    lastInboundAfter: timestampText.optional(),
    lastInboundBefore: timestampText.optional(),
    createdAfter: timestampText.optional(),
    createdBefore: timestampText.optional(),
  })
  .meta({ id: 'AudienceFilter' })
export type AudienceFilter = z.infer<typeof AudienceFilter>

const OneOffRecipient = z
  .strictObject({
    phone,
    name: text(200).optional(),
    params: params
      .refine((values) => !Object.hasOwn(values, HEADER_MEDIA), {
        message: 'is the same for all recipients: set it in the params of the broadcast',
        path: [HEADER_MEDIA],
      })
      .optional(),
  })
  .meta({ id: 'OneOffRecipient' })

export const AudienceInput = z.strictObject({
  ...ids,
  recipients: z
    .array(OneOffRecipient)
    .max(RECIPIENTS_MAX)
    .optional()
    .meta({ description: 'Phone numbers. Those that are no contacts become contacts when the broadcast starts' }),
  filter: AudienceFilter.optional().meta({ description: 'Contacts for which all conditions hold' }),
  exclude: z.strictObject(ids).optional().meta({ description: 'Contacts who are sent nothing' }),
})
export type AudienceInput = z.infer<typeof AudienceInput>
/** Stored audience. Its phone numbers have a table of their own. */
export type Audience = Omit<AudienceInput, 'recipients'> & { recipientCount?: number }
