import { z } from 'zod'
import { id, page, timestamp, timestampInput, toPage } from '../../trpc/schemas.ts'
import { AUDIT_ACTIONS, describeUnknownAction } from './actions.ts'

const value = z
  .union([z.string(), z.boolean(), z.array(z.string()), z.null()])
  .meta({ description: 'Present for enums, booleans and IDs' })

const outcome = z.enum(['succeeded', 'refused'])

export const AuditEvent = z
  .object({
    id,
    at: timestamp,
    action: z.string().meta({
      description: 'The operation, as `operationId` in this document',
      examples: ['contacts.update'],
    }),
    outcome: outcome.meta({
      description: '`refused`: the caller had not the role or scope. Of repeated attempts, some are recorded',
    }),
    actor: z.object({
      type: z.enum(['user', 'key', 'system']),
      id: id.nullable(),
      name: z.string().nullable().meta({ description: 'The present name; null if the account was deleted' }),
    }),
    targets: z.array(z.object({ type: z.string(), id })).meta({
      description: 'What the operation concerned, up to 100; empty for the settings of the workspace',
    }),
    targetCount: z.int().meta({ description: 'The number of all targets' }),
    context: z.object({ address: z.string().nullable(), userAgent: z.string().nullable(), requestId: z.string() }),
    fields: z
      .array(z.object({ name: z.string(), from: value.optional(), to: value.optional() }))
      .meta({ description: 'The fields that were set or changed. Texts, numbers and times have no values here' }),
  })
  .meta({ id: 'AuditEvent' })
export type AuditEvent = z.infer<typeof AuditEvent>

export const AuditEventPage = toPage(AuditEvent)

const filters = {
  actorId: id.optional().meta({ description: 'Only events of this user or API key' }),
  action: z
    .enum(AUDIT_ACTIONS, { error: ({ input }) => describeUnknownAction(input) })
    .optional()
    .meta({ description: 'Only events of this operation', examples: ['contacts.update'] }),
  outcome: outcome.optional().meta({ description: 'Only events with this outcome', examples: ['refused'] }),
  targetType: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .meta({ description: 'The type of `targetId`, which it requires', examples: ['contact'] }),
  targetId: id.optional().meta({ description: 'Only events that concern this object, among the first 100 of each' }),
  since: timestampInput.optional().meta({ description: 'Only events at or after this time' }),
  until: timestampInput.optional().meta({ description: 'Only events before this time' }),
}

const hasTarget = ({ targetType, targetId }: { targetType?: string | undefined; targetId?: string | undefined }) =>
  targetType === undefined || targetId !== undefined
const NO_TARGET = { path: ['targetType'], message: 'requires `targetId`' }

export const AuditEventFilters = z.strictObject(filters).refine(hasTarget, NO_TARGET)
export type AuditEventFilters = z.output<typeof AuditEventFilters>

export const ListAuditEvents = z.strictObject({ ...page, ...filters }).refine(hasTarget, NO_TARGET)
export type ListAuditEvents = z.output<typeof ListAuditEvents>
