import type { JsonObject } from '../../engine/model/run.ts'
import type { StepRegistry, StepType } from '../../engine/model/step.ts'
import type { RecordedRun } from './load-recording.ts'

/**
 * A workflow that runs another is told what that gave, where that is known, instead of playing it, too: the step then
 * asks the outside like any other.
 */
export function simulateChildRuns(
  registry: StepRegistry,
  stepOutputs: JsonObject,
  recorded: RecordedRun[] = [],
): StepRegistry {
  const type = registry.get('run_workflow')
  if (!type) return registry
  const known = new Set([
    ...Object.keys(stepOutputs),
    ...recorded.flatMap(({ steps }) => steps.map(({ stepId }) => stepId)),
  ])
  const answered: StepType = {
    ...type,
    execute(config, turn) {
      const outcome = type.execute(config, turn)
      if (outcome.kind !== 'external' || !known.has(turn.step.id)) return outcome
      return { ...outcome, request: { ...outcome.request, type: 'answered_workflow' } }
    },
  }
  return new Map([...registry, [type.type, answered]])
}
