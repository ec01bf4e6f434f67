import type { Outcome } from '../model/evaluation.ts'
import { isFinished, type RunState } from '../model/run.ts'
import type { SimulatedRunRecord } from './simulated-mailbox.ts'

/** How a simulation ends, and why it did not come further. */
export type SimulationEnd = { ended: 'settled' | 'waiting' | 'not_started'; why: string | null }

const REFUSED: Record<Outcome, string> = {
  no_match: 'What was said or happened is not what a trigger of the workflow is for',
  condition_not_met: 'A trigger was for what was said or happened, but its condition was not met',
  already_running: 'The workflow was running already, and its re-entry policy allows no second run',
  automation_paused: 'Automation of the conversation is paused',
  consumed_as_reply: 'Another run took what was said for its answer',
  preempted_by_priority: 'What was said was a command to another workflow',
  max_depth_exceeded: 'Workflows woke each other too many times in a row',
  cascade_rate_limited: 'Workflows woke each other too many times in a minute',
}

const WAITS = { reply: 'a reply', timer: 'a time', event: 'an event', result: 'something from outside' }

export function toSimulationEnd(
  runs: SimulatedRunRecord[],
  refusals: { outcome: Outcome }[],
  stoppedBy: string | null,
): SimulationEnd {
  if (runs.length === 0) {
    const refused = refusals.at(-1)?.outcome
    const why = refused
      ? REFUSED[refused]
      : 'Nothing was said and nothing happened that a trigger of the workflow is for'
    return { ended: 'not_started', why: stoppedBy ?? why }
  }
  const open = runs.find(({ stored }) => !isFinished(stored.state))
  if (!open) return { ended: 'settled', why: stoppedBy }
  return { ended: 'waiting', why: stoppedBy ?? whyWaiting(open.stored.state) }
}

function whyWaiting({ stepId, waiting }: RunState): string {
  if (!waiting) return 'A run waits for its turn'
  const until = waiting.until ? `, until ${waiting.until}` : ''
  return `Step "${stepId}" waits for ${WAITS[waiting.for]}${until}`
}
