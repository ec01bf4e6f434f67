import { z } from 'zod'
import { bulkItems, bulkResult } from '../../../trpc/bulk.ts'
import { text } from '../../../trpc/schemas.ts'
import { CreateContact, phone } from '../schema.ts'

/** An item of a call. Which fields it needs depends on what it matches, and if it is created. */
export const BulkItem = CreateContact.extend({ name: text(200).optional(), phone: phone.optional() })
export type BulkItem = z.infer<typeof BulkItem>

export const MatchBy = z.enum(['phone', 'externalId', 'email'])
export type MatchBy = z.infer<typeof MatchBy>

export const BulkContacts = z.strictObject({
  mode: z.enum(['create', 'update', 'upsert']).default('upsert').meta({
    description: 'Whether contacts that do not exist are created, and those that exist are changed',
  }),
  matchBy: MatchBy.default('phone').meta({
    description: 'The field by which an item is a contact. Phone numbers match in every spelling of one person',
  }),
  items: bulkItems({
    description:
      'The fields of `POST /api/contacts`. Fields that are left out stay as they are, tags are added, and custom fields merged. Items of one person are merged, later ones last',
    example: { name: 'Ana Souza', phone: '+5511900000001', tags: ['vip'] },
  }),
  startWorkflows: z.boolean().default(false).meta({
    description: 'Whether workflows react to the new contacts and changes',
  }),
})
export type BulkContacts = z.infer<typeof BulkContacts>

const BulkResult = bulkResult(['created', 'updated', 'unchanged'], 'contact').meta({ id: 'BulkContactResult' })
export type BulkResult = z.infer<typeof BulkResult>

const count = z.int()

export const BulkResults = z
  .object({
    results: z.array(BulkResult).meta({ description: 'The results in the order of the items' }),
    counts: z
      .object({ created: count, updated: count, unchanged: count, failed: count })
      .meta({ description: 'The items by their status; several of one person count each' }),
  })
  .meta({ description: 'The outcome of each item' })
export type BulkResults = z.infer<typeof BulkResults>
