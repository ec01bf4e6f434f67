import type { SimulationTrace } from '../../engine/simulate/simulate.ts'
import { defineTask } from '../../platform/compute/compute-task.ts'
import { SECOND } from '../../platform/time.ts'
import { diffRuns } from './diff-runs.ts'
import {
  runQueuedSimulation,
  runSimulation,
  type QueuedSimulationRequest,
  type SimulationRequest,
} from './run-simulation.ts'
import type { SimulationResult } from './schema.ts'
import { toSimulationResult } from './to-simulation-result.ts'

/** Thread time for a simulation, short of the deadline: it then ends with what it has simulated so far. */
export const SIMULATION_MS_MAX = 4 * SECOND

const BUDGET = {
  deadlineMs: 5 * SECOND,
  budgetMessage:
    'The simulation takes too long or too much memory. Use a shorter dialogue, less input or simpler templates',
}

/** Simulates a workflow on a compute thread, and compares the runs with the recorded ones if there are any. */
export const simulateTask = defineTask({
  ...BUDGET,
  name: 'simulate',
  run: (request: SimulationRequest): SimulationResult => {
    const trace = runSimulation(request)
    return { ...toSimulationResult(trace), diff: request.recorded ? diffRuns(request.recorded, trace.runs) : null }
  },
})

/** Simulates a queued run on a compute thread. */
export const simulateQueuedTask = defineTask({
  ...BUDGET,
  name: 'simulate-queued',
  run: (request: QueuedSimulationRequest): SimulationTrace => runQueuedSimulation(request),
})
