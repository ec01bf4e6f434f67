import { getField } from '../../platform/get-field.ts'
import { isComplete } from '../model/is-complete.ts'
import type { LoopFrame, RunState, StepRecord } from '../model/run.ts'

type Round = Pick<StepRecord, 'stepId' | 'path' | 'output' | 'branch'>

const SEGMENT = /^(.+)\[(\d+)\]$/

/**
 * The loops that a run was in when it came to the step at `at`, as its records tell. Undefined if they do not: the list
 * that a loop goes over is only known from rounds that were made, or from a run that ended within the loop.
 */
export function rebuildFrames(records: Round[], at: number, old: RunState): LoopFrame[] | undefined {
  const rounds = roundsAround(records[at])
  const frames = rounds.map(({ loopId, index }) => frameOf({ loopId, index }, records, at, old))
  return frames.every((frame) => frame !== undefined) ? frames : undefined
}

/** `each[3].send` is within round 3 of `each`; a loop that goes round is within the round that it has just ended. */
function roundsAround(step: Round | undefined): { loopId: string; index: number }[] {
  if (!step) return []
  const around = step.path.split('.').flatMap((segment) => {
    const [, loopId, index] = SEGMENT.exec(segment) ?? []
    return loopId !== undefined && index !== undefined ? [{ loopId, index: Number(index) }] : []
  })
  const ended = endedRound(step)
  return ended > 0 ? [...around, { loopId: step.stepId, index: ended - 1 }] : around
}

function endedRound({ branch, output }: Round): number {
  const name = branch === 'round' ? 'index' : branch === 'done' ? 'rounds' : undefined
  const count = name && getField(output, name)
  return typeof count === 'number' ? count : 0
}

function frameOf(
  { loopId, index }: { loopId: string; index: number },
  records: Round[],
  at: number,
  old: RunState,
): LoopFrame | undefined {
  const own = (step: Round) => step.stepId === loopId
  const before = records.slice(0, at).filter(own)
  const later = records.slice(at).filter(own)
  const started = before.slice(Math.max(0, before.length - index - 1))
  const isCounted = started.length > 0 && started.every(({ output }) => !hasItem(output))
  if (isCounted) return { loopId, index, items: null }
  const end = later.findIndex(({ branch }) => branch !== 'round')
  if (end === -1) {
    const open = old.frames.find((frame) => frame.loopId === loopId)
    return open && { loopId, index, items: open.items }
  }
  const items = [...started, ...later.slice(0, end)].map(({ output }) => itemOf(output))
  return isComplete(items) ? { loopId, index, items } : undefined
}

function hasItem(output: unknown): boolean {
  return typeof output === 'object' && output !== null && 'item' in output
}

function itemOf(output: unknown): unknown {
  return getField(output, 'item') ?? null
}
