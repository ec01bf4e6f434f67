import { isFinished, type RunState } from './run.ts'
import type { StoredRun } from './stored-run.ts'

/** True if the run waits behind another one. A run that debounces does not: it is the one that others wait for. */
export function isQueued({ state: { status, debouncing } }: StoredRun): boolean {
  return status === 'queued' && debouncing === null
}

export function isActive({ workflowId, state }: StoredRun, id: string): boolean {
  return workflowId === id && !isFinished(state)
}

export function isAwaitedBy({ state: { parent } }: StoredRun, { waiting, epoch }: RunState): boolean {
  return waiting?.for === 'result' && parent?.epoch === epoch
}

export function isOverdue({ status, expiresAt }: RunState, now: number): boolean {
  return status === 'waiting' && expiresAt !== null && now > Date.parse(expiresAt)
}
