import type { JsonObject } from '../../engine/model/run.ts'
import type { StepRegistry, StepType } from '../../engine/model/step.ts'
import type { RecordedRun } from './load-recording.ts'

/**
 * Lets `run_workflow` steps whose output is given or recorded use it, instead of simulating the other workflow: they then
 * make an external call like other steps.
 */
export function simulateChildRuns(
  registry: StepRegistry,
  stepOutputs: JsonObject,
  recorded: RecordedRun[] = [],
): StepRegistry {
  const type = registry.get('run_workflow')
  if (!type) return registry
  const overriddenIds = new Set([
    ...Object.keys(stepOutputs),
    ...recorded.flatMap(({ steps }) => steps.map(({ stepId }) => stepId)),
  ])
  const overridden: StepType = {
    ...type,
    execute(config, context) {
      const outcome = type.execute(config, context)
      if (outcome.kind !== 'external' || !overriddenIds.has(context.step.id)) return outcome
      return { ...outcome, request: { ...outcome.request, type: 'answered_workflow' } }
    },
  }
  return new Map([...registry, [type.type, overridden]])
}
