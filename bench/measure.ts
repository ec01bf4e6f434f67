import { readdirSync, readFileSync } from 'node:fs'

/** Linux counts processor time in hundredths of a second. */
const TICK_MS = 10

type Stat = { pid: number; parent: number; cpuMs: number }

function readStat(pid: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number)
    return { pid, parent: fields[1] ?? 0, cpuMs: ((fields[11] ?? 0) + (fields[12] ?? 0)) * TICK_MS }
  } catch {
    return undefined
  }
}

/** Processor time of one process so far, in ms. */
export function cpuOf(pid: number): number {
  return readStat(pid)?.cpuMs ?? 0
}

/** Processor time of the living children of a process so far, in ms: of the backends of a postmaster. */
export function cpuOfChildren(parent: number): number {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readStat(Number(name)))
    .filter((stat) => stat?.parent === parent)
    .reduce((sum, stat) => sum + (stat?.cpuMs ?? 0), 0)
}

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

/** `0.71 (0.64–0.78)`: the median and the range. */
export function spread(values: number[], digits = 2): string {
  return `${median(values).toFixed(digits)} (${Math.min(...values).toFixed(digits)}–${Math.max(...values).toFixed(digits)})`
}

/** Runs `count` tasks, `width` at a time. */
export async function inParallel(count: number, width: number, task: (index: number) => Promise<void>): Promise<void> {
  let next = 0
  const lane = async () => {
    for (let index = next++; index < count; index = next++) await task(index)
  }
  await Promise.all(Array.from({ length: width }, lane))
}

export function table(rows: string[][]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const line = (row: string[]) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`
  const [head = [], ...body] = rows
  return [line(head), `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...body.map(line)]
}
