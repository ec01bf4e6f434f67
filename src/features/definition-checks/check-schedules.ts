import type { CompiledDefinition } from '../../engine/model/compiled.ts'
import { problemAt, type Problem } from '../../engine/language/definition/problems.ts'
import { parseInstant } from '../../platform/calendar/zoned-time.ts'
import type { Scope } from '../../scope.ts'
import { schedule } from '../../triggers/schedule.ts'
import { workflowTimezone } from '../automation/workflow-zone.ts'

/** Warns of scheduled times in the past: they start no runs. */
export async function checkSchedules(scope: Scope, { triggers, settings }: CompiledDefinition): Promise<Problem[]> {
  if (!triggers.some((trigger) => schedule.is(trigger) && trigger.at !== undefined)) return []
  const timezone = await workflowTimezone(scope, settings.timezone)
  return triggers.flatMap((trigger, index) => {
    if (!schedule.is(trigger) || trigger.at === undefined) return []
    const at = parseInstant(trigger.at, trigger.timezone ?? timezone)
    if (at === undefined || at > scope.now().getTime()) return []
    const location = { stepId: null, path: `triggers.${index}`, name: `Trigger ${index + 1}` }
    return [problemAt(location, 'at', 'past_schedule', 'is in the past and starts no runs: set a time in the future')]
  })
}
