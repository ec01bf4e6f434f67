import { z } from 'zod'
import { id, text } from '../../trpc/schemas.ts'
import { phone } from '../contacts/schema.ts'
import { messageBody } from '../conversations/schema.ts'

export const SendAsCustomer = z
  .strictObject({
    phone: phone.optional().meta({ description: 'Whose phone; somebody new becomes a contact' }),
    contactId: id.optional().meta({ description: 'Instead of a phone: a contact that is there' }),
    name: text(200).optional().meta({ description: "The name on a new customer's profile" }),
    body: messageBody,
  })
  .refine(({ phone, contactId }) => (phone === undefined) !== (contactId === undefined), {
    message: 'must name either a phone or a contactId',
    path: ['phone'],
  })
export type SendAsCustomer = z.infer<typeof SendAsCustomer>
