import { type NotRecorded, type Rebuild, rebuildState } from '../../engine/replay/rebuild-state.ts'
import type { RunState } from '../../engine/model/run.ts'
import { defineTask } from '../../platform/compute/compute-task.ts'
import { SECOND } from '../../platform/time.ts'
import { workflowLanguage } from '../../workflow-language.ts'

/** Rebuilds the state of a run on a compute thread: the work grows with its steps and the size of its variables. */
export const rebuildTask = defineTask({
  name: 'rebuild-state',
  deadlineMs: 5 * SECOND,
  budgetMessage: 'The state before this step takes too long or too much memory to rebuild. Replay from an earlier step',
  run: (rebuild: Omit<Rebuild, 'registry'>): RunState | NotRecorded =>
    rebuildState({ ...rebuild, registry: workflowLanguage }),
})
