import { getField } from '../../platform/fields.ts'
import { REDACTED } from '../../platform/security/redact-texts.ts'
import type { LoopFrame, RunState } from '../model/run.ts'

/** The parts of a step record from which loop frames are rebuilt. */
export type LoopRecord = { stepId: string; path: string; output: unknown; branch: string | null }
type Iteration = { loopId: string; index: number }

const SEGMENT = /^(.+)\[(\d+)\]$/

/**
 * Rebuilds the loop frames of a run at the step at `at` from its records. Undefined if that is impossible: the list of a
 * loop is only known from recorded iterations, or from a run that ended within the loop.
 */
export function rebuildFrames(records: LoopRecord[], at: number, old: RunState): LoopFrame[] | undefined {
  const iterations = listIterations(records[at])
  const frames = iterations.map((iteration) => rebuildFrame(iteration, records, at, old))
  return frames.every((frame) => frame !== undefined) ? frames : undefined
}

/** Returns false for a recorded payload that was truncated or redacted. */
export function isComplete(recorded: unknown): boolean {
  const text = JSON.stringify(recorded) ?? ''
  return !text.includes(REDACTED) && !text.includes('"$truncated":true')
}

/** `each[3].send` is within iteration 3 of `each`; a loop that iterates is within the iteration that just ended. */
function listIterations(step: LoopRecord | undefined): Iteration[] {
  if (!step) return []
  const outer = step.path.split('.').flatMap((segment) => {
    const [, loopId, index] = SEGMENT.exec(segment) ?? []
    return loopId !== undefined && index !== undefined ? [{ loopId, index: Number(index) }] : []
  })
  const ended = countEnded(step)
  return ended > 0 ? [...outer, { loopId: step.stepId, index: ended - 1 }] : outer
}

function countEnded({ branch, output }: LoopRecord): number {
  const name = branch === 'iteration' ? 'index' : branch === 'done' ? 'iterations' : undefined
  const count = name && getField(output, name)
  return typeof count === 'number' ? count : 0
}

function rebuildFrame(
  { loopId, index }: Iteration,
  records: LoopRecord[],
  at: number,
  old: RunState,
): LoopFrame | undefined {
  const isLoop = (step: LoopRecord) => step.stepId === loopId
  const earlier = records.slice(0, at).filter(isLoop)
  const later = records.slice(at).filter(isLoop)
  const started = earlier.slice(Math.max(0, earlier.length - index - 1))
  const isConditional = started.length > 0 && started.every(({ output }) => !hasItem(output))
  if (isConditional) return { loopId, index, items: null }
  const end = later.findIndex(({ branch }) => branch !== 'iteration')
  if (end === -1) {
    const open = old.frames.find((frame) => frame.loopId === loopId)
    return open && { loopId, index, items: open.items }
  }
  const items = [...started, ...later.slice(0, end)].map(({ output }) => getField(output, 'item') ?? null)
  return isComplete(items) ? { loopId, index, items } : undefined
}

function hasItem(output: unknown): boolean {
  return typeof output === 'object' && output !== null && 'item' in output
}
