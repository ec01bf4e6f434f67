import type { z } from 'zod'
import { Problems } from '../publishing/schema.ts'
import { WorkflowWithDefinition } from '../workflows/schema.ts'

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
