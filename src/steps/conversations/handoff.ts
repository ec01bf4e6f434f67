import { z } from 'zod'
import { duration } from '../../engine/language/definition/duration.ts'
import { templateText } from '../../engine/language/definition/names.ts'
import { defineStep } from '../../engine/model/step.ts'
import { addMs } from '../../platform/time.ts'
import { Assignee, composeAssignment } from './assignee.ts'
import type { WorkflowEffect } from '../effects.ts'

/**
 * Leaves the conversation to a person: automation pauses. With `resumeAfter` the run waits so long, and goes on; else
 * it ends here, unless it is told what is left to do.
 */
export const handoff = defineStep({
  type: 'handoff',
  schema: z.strictObject({
    reason: templateText.optional(),
    assign: Assignee.optional(),
    resumeAfter: duration.refine((ms) => ms > 0, 'must be longer than 0s').optional(),
  }),
  fallthrough: ({ resumeAfter }) => (resumeAfter === undefined ? 'explicit' : 'always'),
  waits: ({ resumeAfter }) => resumeAfter !== undefined,
  execute({ reason, assign, resumeAfter }, turn) {
    const until = resumeAfter === undefined ? null : addMs(turn.now, resumeAfter)
    const told = { reason: reason === undefined ? null : turn.text(reason), until: until?.toISOString() ?? null }
    const handedOff: WorkflowEffect = { type: 'handoff', ...told }
    const effects = assign ? [handedOff, composeAssignment(assign, turn)] : [handedOff]
    const facts = { conversation: { automation: 'paused' } }
    if (until) return { kind: 'wait', for: 'timer', until, input: told, effects, facts }
    return { kind: 'next', input: told, output: told, effects, facts }
  },
  resume(_config, _turn, wakeup) {
    if (wakeup.type !== 'timer') return { kind: 'ignore' }
    const effect: WorkflowEffect = { type: 'resume_automation' }
    return { kind: 'next', output: null, effects: [effect], facts: { conversation: { automation: 'on' } } }
  },
})
