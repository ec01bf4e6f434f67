import type { JsonObject } from '../../engine/model/run.ts'
import type { Registry } from '../../engine/model/registry.ts'
import type { StepType } from '../../engine/model/step.ts'
import type { RecordedRun } from './load-recording.ts'

/**
 * Lets `run_workflow` steps whose output is given or recorded use it, instead of simulating the other workflow: they then
 * make an external call like other steps.
 */
export function simulateChildRuns(registry: Registry, stepOutputs: JsonObject, recorded: RecordedRun[] = []): Registry {
  const type = registry.steps.get('run_workflow')
  if (!type) return registry
  const overriddenIds = new Set([
    ...Object.keys(stepOutputs),
    ...recorded.flatMap(({ steps }) => steps.map(({ stepId }) => stepId)),
  ])
  const overridden: StepType = {
    ...type,
    execute(config, context) {
      const outcome = type.execute(config, context)
      if (outcome.kind !== 'start_run' || !overriddenIds.has(context.step.id)) return outcome
      const { start, ...report } = outcome
      return { ...report, kind: 'external', request: { ...start, type: 'run_workflow' } }
    },
  }
  return { ...registry, steps: new Map([...registry.steps, [type.type, overridden]]) }
}
