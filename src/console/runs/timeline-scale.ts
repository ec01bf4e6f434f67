const CUT_MIN_MS = 2_000
/** An idle interval is cut if it is longer than this part of the active time. */
const CUT_MIN_SHARE = 0.6
/** Width of a cut interval in percent, and the largest one of all together. */
const CUT_WIDTH = 13
const CUT_WIDTH_MAX = 45

/** Types of steps that wait for something outside, during which the run does nothing. */
const WAITS = new Set(['ask', 'handoff', 'run_workflow', 'throttle', 'wait', 'wait_for_event', 'wait_for_reply'])

export type Span = { startMs: number; endMs: number; isWait: boolean }

/** A part of the time with its place in percent of the width. */
export type Segment = { startMs: number; endMs: number; left: number; width: number; isCut: boolean }

type TimedStep = { type: string; startedAt: Date | string; finishedAt: Date | string | null }

export function isWait(type: string): boolean {
  return WAITS.has(type)
}

/** Returns the time of each step. One that has not ended lasts until now. */
export function toSpans(steps: readonly TimedStep[], nowMs: number): Span[] {
  return steps.map(({ type, startedAt, finishedAt }) => {
    const startMs = new Date(startedAt).getTime()
    const endMs = finishedAt === null ? nowMs : new Date(finishedAt).getTime()
    // The clock of the browser may be behind that of the server.
    return { startMs, endMs: Math.max(startMs, endMs), isWait: isWait(type) }
  })
}

/**
 * Returns the time of each step since the first one of its run. The steps that a replay executes follow those whose results it
 * took over without the time that has passed between.
 */
export function toRelativeSpans(
  steps: readonly (TimedStep & { reusedFromId: string | null })[],
  nowMs: number,
): Span[] {
  const spans = toSpans(steps, nowMs)
  const reused = spans.filter((_, index) => steps[index]?.reusedFromId)
  const executed = spans.filter((_, index) => !steps[index]?.reusedFromId)
  const reusedEndMs = reused.reduce((latest, { endMs }) => Math.max(latest, endMs), -Infinity)
  const findStart = (some: readonly Span[]) => some.reduce((first, { startMs }) => Math.min(first, startMs), Infinity)
  const gapMs = reused.length > 0 && executed.length > 0 ? Math.max(0, findStart(executed) - reusedEndMs) : 0
  const originMs = findStart(reused.length > 0 ? reused : executed)
  return spans.map(({ startMs, endMs, isWait }, index) => {
    const shiftMs = originMs + (steps[index]?.reusedFromId ? 0 : gapMs)
    return { startMs: startMs - shiftMs, endMs: endMs - shiftMs, isWait }
  })
}

/**
 * Divides the time of spans into segments. An idle interval, which no span but waits covers, is cut to a fixed width if it is
 * long; the others share the rest of the width by their length.
 */
export function toSegments(spans: readonly Span[]): Segment[] {
  return divide(toIntervals(spans))
}

/**
 * Divides the time of the spans of two runs, whose waits for the same seldom end at the same moment: neighboring idle intervals
 * are one, so that no small difference between two long waits takes the width.
 */
export function toSharedSegments(spans: readonly Span[]): Segment[] {
  const joined: Interval[] = []
  for (const interval of toIntervals(spans)) {
    const last = joined.at(-1)
    if (last?.isIdle && interval.isIdle) last.endMs = interval.endMs
    else joined.push(interval)
  }
  return divide(joined)
}

function divide(intervals: readonly Interval[]): Segment[] {
  const activeMs = sumLengths(intervals.filter(({ isIdle }) => !isIdle))
  const cutMinMs = Math.max(CUT_MIN_MS, CUT_MIN_SHARE * activeMs)
  const parts = intervals.map(({ isIdle, ...interval }) => ({
    ...interval,
    isCut: isIdle && interval.endMs - interval.startMs > cutMinMs,
  }))
  const cutCount = parts.filter(({ isCut }) => isCut).length
  const linearMs = sumLengths(parts.filter(({ isCut }) => !isCut))
  // If nothing is left to be linear, the cuts fill the width.
  const cutsWidth = linearMs > 0 ? Math.min(CUT_WIDTH * cutCount, CUT_WIDTH_MAX) : 100
  let left = 0
  return parts.map((part) => {
    const width = part.isCut
      ? cutsWidth / cutCount
      : ((100 - (cutCount > 0 ? cutsWidth : 0)) * (part.endMs - part.startMs)) / (linearMs || 1)
    const segment = { ...part, left, width }
    left += width
    return segment
  })
}

/** Returns the place of a time in percent of the width. */
export function toPlace(segments: readonly Segment[], atMs: number): number {
  let [low, high] = [0, segments.length - 1]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((segments[middle]?.endMs ?? 0) < atMs) low = middle + 1
    else high = middle
  }
  const segment = segments[low]
  if (!segment || atMs <= segment.startMs) return segment?.left ?? 0
  const share = Math.min(1, (atMs - segment.startMs) / (segment.endMs - segment.startMs))
  return segment.left + share * segment.width
}

type Interval = { startMs: number; endMs: number; isIdle: boolean }

/** Returns the intervals between neighboring starts and ends. */
function toIntervals(spans: readonly Span[]): Interval[] {
  const times = [...new Set(spans.flatMap(({ startMs, endMs }) => [startMs, endMs]))].sort((a, b) => a - b)
  const changes = new Map(times.map((time) => [time, 0]))
  for (const { startMs, endMs } of spans.filter((span) => !span.isWait)) {
    changes.set(startMs, (changes.get(startMs) ?? 0) + 1)
    changes.set(endMs, (changes.get(endMs) ?? 0) - 1)
  }
  let active = 0
  return times.slice(0, -1).map((startMs, index) => {
    active += changes.get(startMs) ?? 0
    return { startMs, endMs: times[index + 1] ?? startMs, isIdle: active === 0 }
  })
}

function sumLengths(intervals: readonly { startMs: number; endMs: number }[]): number {
  return intervals.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0)
}

type Row = { id: string; status: string }

/**
 * Chooses the rows to draw, in their order: the marked one and those that failed before the others, up to a number. `skipped`
 * is the number of rows before each that are not drawn.
 */
export function pickRows<R extends Row>(
  rows: readonly R[],
  { max, selected }: { max: number; selected?: string | undefined },
): { row: R; skipped: number }[] {
  const rank = ({ id, status }: R) => (id === selected ? 0 : status === 'failed' ? 1 : 2)
  const order = rows.map((row, index) => ({ row, index, rank: rank(row) }))
  const chosen = order
    .toSorted((a, b) => a.rank - b.rank)
    .slice(0, max)
    .toSorted((a, b) => a.index - b.index)
  return chosen.map(({ row, index }, place) => ({ row, skipped: index - (chosen[place - 1]?.index ?? -1) - 1 }))
}
