import type { JsonObject } from '../../engine/model/run.ts'
import type { Registry } from '../../engine/model/registry.ts'
import type { StepType } from '../../engine/model/step.ts'
import type { RecordedRun } from './load-recording.ts'

/** Replaces runs of other workflows whose output is known by external calls, which return that output. */
export function simulateChildRuns(registry: Registry, stepOutputs: JsonObject, recorded: RecordedRun[] = []): Registry {
  const type = registry.steps.get('run_workflow')
  if (!type) return registry
  const known = new Set([
    ...Object.keys(stepOutputs),
    ...recorded.flatMap(({ steps }) => steps.map(({ stepId }) => stepId)),
  ])
  const answered: StepType = {
    ...type,
    execute(config, context) {
      const outcome = type.execute(config, context)
      if (outcome.kind !== 'start_run' || !known.has(context.step.id)) return outcome
      const { start, ...report } = outcome
      return { ...report, kind: 'external', request: { ...start, type: 'run_workflow' } }
    },
  }
  return { ...registry, steps: new Map([...registry.steps, [type.type, answered]]) }
}
