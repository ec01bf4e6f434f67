import type { Dimension, Prepared } from './cost-dimensions.ts'
import { type Cost, measureCost, measureSlowness } from './measure-cost.ts'

/**
 * Longest CPU times, on a core of its own, for which the event loop may serve nobody else. A rejected input was larger than
 * any accepted one.
 */
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
 * Describes the first size of an input that costs too much, from an eighth of its limit up to the limit. `isStored` tells
 * that large inputs were stored.
 */
export async function findCostViolation(
  dimension: Dimension,
  report: (line: string) => void = () => undefined,
): Promise<{ violation?: string; isStored: boolean }> {
  const all: Measured[] = []
  const take = async (size: number) => {
    const measured = await measure(dimension.prepare, size)
    all.push(measured)
    report(`${dimension.name}: ${format(measured)}`)
    return measured
  }
  const smallest = await take(toSize(dimension, DOUBLINGS))
  const largest = describe(smallest) === undefined ? await take(toSize(dimension, 0)) : undefined
  // Work that grew too much between two sizes would make a byte more expensive at the limit, unless that is rejected.
  const isFine = largest?.status === smallest.status && describe(largest, smallest, 1) === undefined
  const violation = isFine ? undefined : await findAmongDoublings(dimension, take)
  const isStored = all.some(({ status, bytes }) => status < 300 && bytes > LARGE_BYTES)
  return violation ? { violation: `${dimension.name}: ${violation}`, isStored } : { isStored }
}

/**
 * Stops at the first violation, as a larger input may take hours. A size that seems too expensive is measured again, and
 * the cheapest measurement counts, because noise only adds.
 */
async function findAmongDoublings(
  dimension: Dimension,
  take: (size: number) => Promise<Measured>,
): Promise<string | undefined> {
  let last: Measured | undefined
  for (let doubling = DOUBLINGS; doubling >= 0; doubling -= 1) {
    const size = toSize(dimension, doubling)
    if (size === last?.size) continue
    let measured = await take(size)
    for (let repetition = 1; repetition < REPETITIONS && describe(measured, last); repetition += 1) {
      measured = cheaper(measured, await take(size))
      if (last) last = cheaper(last, await take(last.size))
    }
    const violation = describe(measured, last)
    if (violation) return violation
    last = measured
  }
  return undefined
}

function toSize({ max }: Dimension, doubling: number): number {
  return Math.max(1, Math.floor(max / 2 ** doubling))
}

async function measure(prepare: Dimension['prepare'], size: number): Promise<Measured> {
  const prepared: Prepared = await prepare(size)
  const { result: status, ...cost } = await measureCost(prepared.execute)
  const holdMs = cost.holdMs > HOLD_MS_MAX.accepted ? cost.holdMs / measureSlowness() : cost.holdMs
  return { size, bytes: prepared.bytes, status, cpuMs: cost.cpuMs, holdMs }
}

function cheaper(one: Measured, other: Measured): Measured {
  return { ...one, cpuMs: Math.min(one.cpuMs, other.cpuMs), holdMs: Math.min(one.holdMs, other.holdMs) }
}

function describe(measured: Measured, last?: Measured, growthMax = GROWTH_MAX): string | undefined {
  const holdMsMax = measured.status < 300 ? HOLD_MS_MAX.accepted : HOLD_MS_MAX.rejected
  if (measured.holdMs > holdMsMax) return `${format(measured)}: more than ${holdMsMax} ms without a turn`
  if (!last || measured.cpuMs < COMPARED_MS_MIN) return undefined
  const growth = measured.cpuMs / measured.bytes / (last.cpuMs / last.bytes)
  if (growth <= growthMax) return undefined
  return `${format(last)}, then ${format(measured)}: a byte costs ${growth.toFixed(1)} times as much`
}

function format({ size, bytes, status, cpuMs, holdMs }: Measured): string {
  return `${size} (${bytes} bytes, ${status}) takes ${cpuMs.toFixed(0)} ms, ${holdMs.toFixed(0)} ms at once`
}
