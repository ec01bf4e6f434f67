import { defineTask } from '../../platform/compute/compute-task.ts'
import { SECOND } from '../../platform/time.ts'
import { runSimulation, type SimulationRequest } from '../simulations/run-simulation.ts'
import { findDifferences } from './find-differences.ts'
import type { Expectation } from './schema.ts'

/** Simulates a test on a compute thread and lists the differences to its expectation. */
export const workflowTestTask = defineTask({
  name: 'workflow-test',
  deadlineMs: 2 * SECOND,
  budgetMessage: 'The test takes too long or too much memory. Use a shorter dialogue, less input or simpler templates',
  run: ({ request, expectation }: { request: SimulationRequest; expectation: Expectation }): string[] =>
    findDifferences(expectation, runSimulation(request)),
})
