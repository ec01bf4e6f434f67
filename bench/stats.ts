export function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

/** Returns the value at a percentile by rank, or NaN if there are no values. */
export function percentile(values: number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN
}

export function median(values: number[]): number {
  return percentile(values, 50)
}

/** Formats the median and the range, as in `0.71 (0.64–0.78)`. */
export function formatSpread(values: number[], digits = 2): string {
  const [middle, min, max] = [median(values), Math.min(...values), Math.max(...values)]
  return `${middle.toFixed(digits)} (${min.toFixed(digits)}–${max.toFixed(digits)})`
}

/** Moves the first `count` values to the end, so that each variant comes first in one of several rounds. */
export function rotate<T>(values: T[], count: number): T[] {
  const offset = count % values.length
  return [...values.slice(offset), ...values.slice(0, offset)]
}
