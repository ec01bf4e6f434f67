import { z } from 'zod'
import { CreateWorkflow, Problems, WorkflowWithDefinition } from '../workflows/schema.ts'

/** A workflow that a call has changed, with what publishing it would reject and warn about. */
export const CheckedWorkflow = WorkflowWithDefinition.extend({
  problems: Problems.meta({
    description: 'Problems of the draft that prevent publishing. The draft is stored nevertheless',
    examples: [[]],
  }),
  warnings: Problems.meta({
    description:
      'Problems of the draft that do not prevent publishing; `not_checked` if it was stored without the check, as the server is busy',
    examples: [[]],
  }),
}).meta({ id: 'CheckedWorkflow' })
export type CheckedWorkflow = z.input<typeof CheckedWorkflow>

export const UpsertWorkflow = z.strictObject({
  key: CreateWorkflow.shape.key.unwrap(),
  name: CreateWorkflow.shape.name,
  description: CreateWorkflow.shape.description,
  definition: CreateWorkflow.shape.definition.unwrap(),
  publish: z
    .boolean()
    .default(false)
    .meta({ description: 'Publishes the draft too, and stores nothing if it has problems' }),
})
export type UpsertWorkflow = z.output<typeof UpsertWorkflow>

export const UpsertedWorkflow = CheckedWorkflow.extend({
  result: z
    .enum(['created', 'changed', 'unchanged'])
    .meta({ description: 'The effect of the call on the draft, with its name and description' }),
  published: z.boolean().meta({ description: 'True if the call made a new version' }),
}).meta({ id: 'UpsertedWorkflow' })
export type UpsertedWorkflow = z.input<typeof UpsertedWorkflow>
