import { z } from 'zod'
import { id, timestamp } from '../../../trpc/schemas.ts'
import { Broadcast, Counts, recipientStatus } from '../schema.ts'

const RecipientRef = z.object({ recipientId: id, contactId: id, address: z.string().nullable() })

export const BroadcastReport = z
  .object({
    broadcastId: id,
    status: Broadcast.shape.status,
    snapshot: z
      .object({
        at: timestamp,
        hash: z.string().meta({
          description:
            'SHA-256, in hexadecimal, of the digests of all recipients in the order of their IDs. The digest of a recipient is the SHA-256 of its contact ID, address and parameters',
        }),
      })
      .nullable()
      .meta({ description: 'Null until the list of recipients is complete' }),
    counts: Counts,
    countsAddUp: z.boolean().meta({ description: 'True if each recipient is counted in exactly one status' }),
    acceptedTwice: z
      .array(RecipientRef.extend({ acceptedCount: z.int() }))
      .meta({ description: 'Recipients of whom the provider accepted more than one message. It should be empty' }),
    doubts: z.object({
      total: z.int(),
      open: z.int(),
      items: z
        .array(
          RecipientRef.extend({
            status: recipientStatus,
            doubtedAt: timestamp,
            settledAt: timestamp.nullable(),
            settledBy: z.enum(['provider', 'member']).nullable(),
          }),
        )
        .meta({ description: 'The first 1000' }),
    }),
  })
  .meta({ id: 'BroadcastReport' })
export type BroadcastReport = z.infer<typeof BroadcastReport>

export const BroadcastPreview = z.object({
  items: z.array(
    z.object({
      contactId: id.nullable().meta({ description: 'Null for a phone number that is no contact yet' }),
      name: z.string(),
      address: z.string().nullable(),
      skipReason: z.string().nullable(),
      params: z.record(z.string(), z.string()),
      body: z.string().nullable().meta({ description: 'Text of the message; null if the parameters do not fit' }),
    }),
  ),
})
export type BroadcastPreview = z.infer<typeof BroadcastPreview>

export const BroadcastEstimate = z.object({
  total: z.int(),
  sendable: z.int(),
  skipped: z.record(z.string(), z.int()).meta({ description: 'Number of contacts by the reason to skip them' }),
  isComplete: z
    .literal([true, false])
    .meta({ description: 'False if the audience has more than 20,000 contacts, of which the first are counted' }),
  seconds: z.int().meta({ description: 'Time of sending at the rate of the channel' }),
  remainingToday: z
    .int()
    .nullable()
    .meta({ description: 'People to whom the business may still write first today; null without a limit' }),
})
export type BroadcastEstimate = z.infer<typeof BroadcastEstimate>

export const BroadcastTest = z.object({
  items: z.array(z.object({ contactId: id, messageId: id.nullable(), skipReason: z.string().nullable() })),
})
export type BroadcastTest = z.infer<typeof BroadcastTest>
