import { checkDefinitionTask } from './features/definition-checks/check-definition.ts'
import { rebuildTask } from './features/replay/rebuild-task.ts'
import { simulateQueuedTask, simulateTask } from './features/simulations/simulation-tasks.ts'
import { workflowTestTask } from './features/workflow-tests/workflow-test-task.ts'
import { serveTasks } from './platform/compute/compute-task.ts'
import { findMismatchTask, jsonSchemaErrorTask } from './platform/json-schema.ts'

/** The entry of the compute threads: every task that they execute. */
serveTasks([
  jsonSchemaErrorTask,
  findMismatchTask,
  checkDefinitionTask,
  simulateTask,
  simulateQueuedTask,
  workflowTestTask,
  rebuildTask,
])
