import { z } from 'zod'
import { id, text } from '../../trpc/schemas.ts'
import { phone } from '../contacts/schema.ts'
import { messageBody } from '../conversations/schema.ts'

export const SendAsCustomer = z
  .strictObject({
    phone: phone
      .optional()
      .meta({ description: 'Phone number of the customer. A contact is created for an unknown number' }),
    contactId: id.optional().meta({ description: 'Existing contact that writes. Set this or `phone`' }),
    name: text(200).optional().meta({ description: 'Profile name of a new customer' }),
    body: messageBody,
  })
  .refine(({ phone, contactId }) => (phone === undefined) !== (contactId === undefined), {
    message: 'must be set if and only if contactId is not',
    path: ['phone'],
  })
  .meta({ oneOf: [{ required: ['phone'] }, { required: ['contactId'] }] })
export type SendAsCustomer = z.infer<typeof SendAsCustomer>
