import { z } from 'zod'
import { duration } from '../../engine/language/definition/duration.ts'
import { templateText } from '../../engine/language/definition/names.ts'
import { defineStep } from '../../engine/model/step.ts'
import { addMs } from '../../platform/time.ts'
import { Assignee, composeAssignment } from './assignee.ts'
import type { WorkflowEffect } from '../effects.ts'

/**
 * Hands the conversation over to a person: automation pauses. With `resumeAfter` the run waits that long and resumes
 * automation; otherwise it ends here, unless `next` is set.
 */
export const handoff = defineStep({
  type: 'handoff',
  awaits: 'timer',
  needsContact: true,
  schema: z.strictObject({
    reason: templateText.optional(),
    assign: Assignee.optional(),
    resumeAfter: duration.refine((ms) => ms > 0, 'must be longer than 0s').optional(),
  }),
  output: ({ resumeAfter }) => (resumeAfter === undefined ? { reason: null, until: null } : {}),
  fallthrough: ({ resumeAfter }) => (resumeAfter === undefined ? 'explicit' : 'always'),
  waits: ({ resumeAfter }) => resumeAfter !== undefined,
  execute({ reason, assign, resumeAfter }, context) {
    const until = resumeAfter === undefined ? null : addMs(context.now, resumeAfter)
    const details = { reason: reason === undefined ? null : context.text(reason), until: until?.toISOString() ?? null }
    const handedOff: WorkflowEffect = { type: 'handoff', ...details }
    const effects = assign ? [handedOff, composeAssignment(assign, context)] : [handedOff]
    if (until) return { kind: 'suspend', for: 'timer', until, input: details, effects }
    return { kind: 'next', input: details, output: details, effects }
  },
  resume(_config, _context, wakeup) {
    if (wakeup.type !== 'timer') return { kind: 'ignore' }
    const effect: WorkflowEffect = { type: 'resume_automation' }
    return { kind: 'next', output: null, effects: [effect] }
  },
})
