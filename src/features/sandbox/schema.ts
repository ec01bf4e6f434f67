import { z } from 'zod'
import { OPTION_ID_MAX } from '../../message-content/limits.ts'
import { DAY, SECOND } from '../../platform/time.ts'
import { id, text } from '../../trpc/schemas.ts'
import { phone } from '../contacts/schema.ts'
import { messageBody } from '../conversations/schema.ts'

const Choice = z.strictObject({ messageId: id, optionId: text(OPTION_ID_MAX) })
export type Choice = z.infer<typeof Choice>

export const SendAsCustomer = z
  .strictObject({
    phone: phone
      .optional()
      .meta({ description: 'Phone number of the customer. A contact is created for an unknown number' }),
    contactId: id.optional().meta({ description: 'Existing contact that writes. Set this or `phone`' }),
    name: text(200).optional().meta({ description: 'Profile name of a new customer' }),
    body: messageBody.optional(),
    choice: Choice.optional(),
    mediaId: id.optional(),
  })
  .refine(({ phone, contactId }) => (phone === undefined) !== (contactId === undefined), {
    message: 'must be set if and only if contactId is not',
    path: ['phone'],
  })
  .refine(({ body, choice, mediaId }) => [body, choice, mediaId].some((part) => part !== undefined), {
    message: 'must be set unless choice or mediaId is',
    path: ['body'],
  })
  .refine(({ body, choice, mediaId }) => choice === undefined || (body === undefined && mediaId === undefined), {
    message: 'must be the only content: leave out body and mediaId',
    path: ['choice'],
  })
  .meta({
    oneOf: [{ required: ['phone'] }, { required: ['contactId'] }],
    anyOf: [{ required: ['body'] }, { required: ['choice'] }, { required: ['mediaId'] }],
  })
export type SendAsCustomer = z.infer<typeof SendAsCustomer>

const SECONDS_MAX = (30 * DAY) / SECOND
const SECONDS = `must be an integer between 1 and ${SECONDS_MAX}, which are 30 days`

export const AdvanceClock = z.strictObject({
  conversationId: id,
  seconds: z.int(SECONDS).min(1, SECONDS).max(SECONDS_MAX, SECONDS),
})
export type AdvanceClock = z.infer<typeof AdvanceClock>
