import { readdirSync, readFileSync } from 'node:fs'
import { loadavg } from 'node:os'

/** Linux counts processor time in hundredths of a second. */
const TICK_MS = 10

type Stat = { pid: number; parent: number; cpuMs: number; endedMs: number }

function readStat(pid: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number)
    const ticks = (at: number) => (fields[at] ?? 0) + (fields[at + 1] ?? 0)
    return { pid, parent: fields[1] ?? 0, cpuMs: ticks(11) * TICK_MS, endedMs: ticks(13) * TICK_MS }
  } catch {
    return undefined
  }
}

/** Processor time of one process so far, in ms. */
function cpuOf(pid: number): number {
  return readStat(pid)?.cpuMs ?? 0
}

/** Processor time of the children of a process so far, the ended ones too, in ms: of the backends of a postmaster. */
function cpuOfChildren(parent: number): number {
  const ended = readStat(parent)?.endedMs ?? 0
  const living = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readStat(Number(name)))
    .filter((stat) => stat?.parent === parent)
    .reduce((sum, stat) => sum + (stat?.cpuMs ?? 0), 0)
  return ended + living
}

export type Effort = { perSecond: number; nodeUs: number; databaseUs: number }

/** How fast so many pieces of work are done, and what of processor time each costs these processes and the database. */
export async function effortOf(
  { pids, postmasterPid, count }: { pids: number[]; postmasterPid: number; count: number },
  work: () => Promise<void>,
): Promise<Effort> {
  const nodeCpu = () => pids.reduce((sum, pid) => sum + cpuOf(pid), 0)
  const before = { node: nodeCpu(), database: cpuOfChildren(postmasterPid), at: performance.now() }
  await work()
  return {
    perSecond: count / ((performance.now() - before.at) / 1000),
    nodeUs: ((nodeCpu() - before.node) * 1000) / count,
    databaseUs: ((cpuOfChildren(postmasterPid) - before.database) * 1000) / count,
  }
}

/** Of all processes, µs. */
export function costOf({ nodeUs, databaseUs }: Effort): number {
  return nodeUs + databaseUs
}

/** `name | per second | Node | Postgres | both`, each as median and range. */
export function effortRow(name: string, efforts: Effort[]): string[] {
  const columns = [
    ({ perSecond }: Effort) => perSecond,
    ({ nodeUs }: Effort) => nodeUs,
    ({ databaseUs }: Effort) => databaseUs,
  ]
  return [name, ...[...columns, costOf].map((column) => spread(efforts.map(column), 0))]
}

/** What a reader has to know of the machine: it may be shared. */
export function loadOfMachine(): string {
  return `load average ${loadavg()
    .map((load) => load.toFixed(1))
    .join(', ')}`
}

export function percentile(values: number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN
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
