import { z } from 'zod'
import { templateText } from '../../engine/language/definition/names.ts'
import { StepError } from '../../engine/language/step-error.ts'
import type { StepContext } from '../../engine/model/step.ts'
import { isUuid } from '../../platform/ids.ts'
import type { WorkflowEffect } from '../effects.ts'

/** Assignee of a conversation: a member by id, the member that a strategy chooses, or nobody. */
export const Assignee = z
  .strictObject({
    userId: templateText.optional(),
    strategy: z.enum(['round_robin', 'least_open']).optional(),
    unassign: z.literal(true, 'must be true').optional(),
  })
  .refine(
    (to) => Object.values(to).filter((value) => value !== undefined).length === 1,
    'must have exactly one of userId, strategy and unassign',
  )
  .meta({ minProperties: 1, maxProperties: 1 })
export type Assignee = z.output<typeof Assignee>

/** Composes an assignment. Membership is checked, and a strategy chooses a member, when the effect is applied. */
export function composeAssignment(to: Assignee, context: StepContext): WorkflowEffect<'assign'> {
  if (to.strategy) return { type: 'assign', to: { strategy: to.strategy } }
  if (to.userId === undefined) return { type: 'assign', to: { userId: null } }
  const userId = context.text(to.userId).trim()
  if (isUuid(userId)) return { type: 'assign', to: { userId } }
  throw new StepError('invalid_assignee', `"${userId.slice(0, 60)}" is not the id of a member`, { retryable: false })
}
