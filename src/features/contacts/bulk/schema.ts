import { z } from 'zod'
import { id, text } from '../../../trpc/schemas.ts'
import { CreateContact, phone } from '../schema.ts'

const ITEMS_MAX = 500

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
  items: z
    .array(z.unknown())
    .min(1, 'must have at least 1 entry')
    .max(ITEMS_MAX, `must have at most ${ITEMS_MAX} entries`)
    .meta({
      description:
        'The fields of `POST /api/contacts`. Fields that are left out stay as they are, tags are added, and custom fields merged. Items of one person are merged, later ones last',
      override: { type: 'array', items: { type: 'object' }, minItems: 1, maxItems: ITEMS_MAX },
      examples: [[{ name: 'Ana Souza', phone: '+5511900000001', tags: ['vip'] }]],
    }),
  startWorkflows: z.boolean().default(false).meta({
    description: 'Whether workflows react to the new contacts and changes',
  }),
})
export type BulkContacts = z.infer<typeof BulkContacts>

const BulkResult = z
  .object({
    index: z.int().meta({ description: 'The place of the item, from 0' }),
    status: z.enum(['created', 'updated', 'unchanged', 'failed']),
    id: id.nullable().meta({ description: 'The contact; null if the item failed' }),
    error: z
      .object({ code: z.string(), message: z.string() })
      .nullable()
      .meta({ description: 'The reason of an item that failed' }),
  })
  .meta({ id: 'BulkContactResult' })
export type BulkResult = z.infer<typeof BulkResult>

const count = z.int()

export const BulkResults = z.object({
  results: z.array(BulkResult),
  counts: z
    .object({ created: count, updated: count, unchanged: count, failed: count })
    .meta({ description: 'Contacts that were created, updated and left as they are, and items that failed' }),
})
export type BulkResults = z.infer<typeof BulkResults>
