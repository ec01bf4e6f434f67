import type { StoredRun } from './stored-run.ts'
import { isFinished, type RunState } from './run.ts'

/** It waits for its turn; one that still collects messages has it. */
export function isQueued({ state: { status, debouncing } }: StoredRun): boolean {
  return status === 'queued' && debouncing === null
}

export function isActive({ workflowId, state }: StoredRun, wanted: string): boolean {
  return workflowId === wanted && !isFinished(state)
}

export function isAwaitedBy({ state: { parent } }: StoredRun, { waiting, epoch }: RunState): boolean {
  return waiting?.for === 'result' && parent?.epoch === epoch
}

export function isOverdue({ status, expiresAt }: RunState, now: number): boolean {
  return status === 'waiting' && expiresAt !== null && now > Date.parse(expiresAt)
}
