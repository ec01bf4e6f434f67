import type { Outcome } from '../model/evaluation.ts'
import { isFinished, type RunState, type WaitingFor } from '../model/run.ts'
import type { SimulatedRunRecord } from './simulated-mailbox.ts'

/** The limit that stopped a simulation: virtual time, number of items, or real time. */
export type SimulationLimit = 'virtual_time' | 'items' | 'real_time'

export type SimulationReason =
  | { code: 'limit_reached'; limit: SimulationLimit }
  /** `outcome` is that of the last event; null if no workflow has a trigger for any. */
  | { code: 'not_started'; outcome: Outcome | null }
  | { code: 'queued' }
  | { code: 'waiting'; stepId: string | null; for: WaitingFor; until: string | null }

/** The end of a simulation, and the reason why it did not finish. */
export type SimulationEnd = { outcome: 'finished' | 'waiting' | 'not_started'; reason: SimulationReason | null }

export function toSimulationEnd(
  runs: SimulatedRunRecord[],
  evaluations: { outcome: Outcome }[],
  limit: SimulationLimit | null,
): SimulationEnd {
  const stop: SimulationReason | null = limit && { code: 'limit_reached', limit }
  if (runs.length === 0) {
    const outcome = evaluations.at(-1)?.outcome ?? null
    return { outcome: 'not_started', reason: stop ?? { code: 'not_started', outcome } }
  }
  const open = runs.find(({ stored }) => !isFinished(stored.state))
  if (!open) return { outcome: 'finished', reason: stop }
  return { outcome: 'waiting', reason: stop ?? toWaitingReason(open.stored.state) }
}

function toWaitingReason({ stepId, waiting }: RunState): SimulationReason {
  if (!waiting) return { code: 'queued' }
  return { code: 'waiting', stepId, for: waiting.for, until: waiting.until }
}
