import { z } from 'zod'
import { id, text } from '../../trpc/schemas.ts'
import { draft, Problems, WorkflowWithDefinition } from '../workflows/schema.ts'

export const PublishWorkflow = z.strictObject({ workflowId: id, note: text(500).optional() })
export type PublishWorkflow = z.infer<typeof PublishWorkflow>

export const PublishedWorkflow = WorkflowWithDefinition.extend({
  warnings: Problems.meta({ description: 'Problems that do not prevent publishing' }),
}).meta({ id: 'PublishedWorkflow' })
export type PublishedWorkflow = z.input<typeof PublishedWorkflow>

export const ValidateWorkflow = z.strictObject({
  definition: draft,
  workflowId: id
    .optional()
    .meta({ description: 'The workflow that the definition belongs to; it is left out of the check for duplicates' }),
})
export type ValidateWorkflow = z.infer<typeof ValidateWorkflow>

export const Validation = z
  .object({ valid: z.boolean(), errors: Problems, warnings: Problems })
  .meta({ description: 'The problems of the definition' })
export type Validation = z.infer<typeof Validation>

export const DefinitionSchema = z
  .record(z.string(), z.unknown())
  .meta({ id: 'DefinitionSchema', description: 'JSON Schema, draft 2020-12' })
