import type { CompiledDefinition } from '../../engine/model/compiled.ts'
import { problemAt, type Problem } from '../../engine/language/definition/problems.ts'
import { parseInstant } from '../../platform/zoned-time.ts'
import type { Scope } from '../../scope.ts'
import { schedule } from '../../triggers/schedule.ts'
import { workflowTimezone } from '../automation/workflow-zone.ts'

/** Warns of moments that have passed: they start nothing. */
export async function checkSchedules(scope: Scope, { triggers, settings }: CompiledDefinition): Promise<Problem[]> {
  if (!triggers.some((trigger) => schedule.is(trigger) && trigger.at !== undefined)) return []
  const zone = await workflowTimezone(scope, settings.timezone)
  return triggers.flatMap((trigger, index) => {
    if (!schedule.is(trigger) || trigger.at === undefined) return []
    const at = parseInstant(trigger.at, trigger.timezone ?? zone)
    if (at === undefined || at > scope.now().getTime()) return []
    const place = { stepId: null, path: `triggers.${index}`, name: `Trigger ${index + 1}` }
    return [problemAt(place, 'at', 'past_schedule', 'has passed, and starts nothing: write a moment to come')]
  })
}
