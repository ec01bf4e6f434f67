import type { Dimension, Prepared } from './cost-dimensions.ts'
import { type Cost, measureCost } from './measure-cost.ts'

/** Longest CPU times for which the event loop may serve nobody else. A rejected input was larger than any accepted one. */
const HOLD_MS_MAX = { accepted: 100, rejected: 200 }
/** Growth of the CPU time of a byte when the input doubles. Quadratic work doubles it. */
const GROWTH_MAX = 1.5
/** Below this CPU time, a collection of garbage decides the ratio. */
const COMPARED_MS_MIN = 60
const DOUBLINGS = 3
const REPETITIONS = 5
/** Stored inputs of this size make later calls more expensive. */
const LARGE_BYTES = 50_000

type Measured = { size: number; bytes: number; status: number } & Cost

/**
 * Doubles the input of a dimension up to its limit and describes the first size that costs too much. Stops there, as a
 * larger one may take hours. A size that seems too expensive is measured again, and the cheapest measurement counts,
 * because noise only adds. `isStored` tells that large inputs were stored.
 */
export async function findCostViolation(
  { name, max, prepare }: Dimension,
  report: (line: string) => void = () => undefined,
): Promise<{ violation?: string; isStored: boolean }> {
  let isStored = false
  let last: Measured | undefined
  for (let doubling = DOUBLINGS; doubling >= 0; doubling -= 1) {
    const size = Math.max(1, Math.floor(max / 2 ** doubling))
    if (size === last?.size) continue
    let measured = await measure(prepare, size)
    for (let repetition = 1; repetition < REPETITIONS && describe(measured, last); repetition += 1) {
      measured = cheaper(measured, await measure(prepare, size))
      if (last) last = cheaper(last, await measure(prepare, last.size))
    }
    report(`${name}: ${format(measured)}`)
    const violation = describe(measured, last)
    isStored ||= measured.status < 300 && measured.bytes > LARGE_BYTES
    if (violation) return { violation: `${name}: ${violation}`, isStored }
    last = measured
  }
  return { isStored }
}

async function measure(prepare: Dimension['prepare'], size: number): Promise<Measured> {
  const prepared: Prepared = await prepare(size)
  const { result: status, ...cost } = await measureCost(prepared.execute)
  return { size, bytes: prepared.bytes, status, ...cost }
}

function cheaper(one: Measured, other: Measured): Measured {
  return { ...one, cpuMs: Math.min(one.cpuMs, other.cpuMs), holdMs: Math.min(one.holdMs, other.holdMs) }
}

function describe(measured: Measured, last: Measured | undefined): string | undefined {
  const holdMsMax = measured.status < 300 ? HOLD_MS_MAX.accepted : HOLD_MS_MAX.rejected
  if (measured.holdMs > holdMsMax) return `${format(measured)}: more than ${holdMsMax} ms without a turn`
  if (!last || measured.cpuMs < COMPARED_MS_MIN) return undefined
  const growth = measured.cpuMs / measured.bytes / (last.cpuMs / last.bytes)
  if (growth <= GROWTH_MAX) return undefined
  return `${format(last)}, then ${format(measured)}: a byte costs ${growth.toFixed(1)} times as much`
}

function format({ size, bytes, status, cpuMs, holdMs }: Measured): string {
  return `${size} (${bytes} bytes, ${status}) takes ${cpuMs.toFixed(0)} ms, ${holdMs.toFixed(0)} ms at once`
}
