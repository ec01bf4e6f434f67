import { readdirSync, readFileSync } from 'node:fs'
import { sum } from './stats.ts'

/** Length of a clock tick, the unit in which Linux counts processor time. */
const TICK_MS = 10

type ProcessStat = { pid: number; parentPid: number; cpuMs: number; exitedChildrenCpuMs: number }

function readStat(pid: number): ProcessStat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number)
    const ticks = (index: number) => (fields[index] ?? 0) + (fields[index + 1] ?? 0)
    return {
      pid,
      parentPid: fields[1] ?? 0,
      cpuMs: ticks(11) * TICK_MS,
      exitedChildrenCpuMs: ticks(13) * TICK_MS,
    }
  } catch {
    return undefined
  }
}

/** Reads the processor time of a process. */
export function readCpuMs(pid: number): number {
  return readStat(pid)?.cpuMs ?? 0
}

/** Reads the memory that a process has in use. */
export function readMemoryMb(pid: number): number {
  const [, kb] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kb) / 1024
}

/** Reads the processor time of all children of a process, such as the backends of a postmaster, exited ones included. */
export function readChildrenCpuMs(parentPid: number): number {
  const readExited = () => readStat(parentPid)?.exitedChildrenCpuMs ?? 0
  for (;;) {
    const exitedMs = readExited()
    const running = readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((name) => readStat(Number(name)))
      .filter((stat) => stat?.parentPid === parentPid)
      .map((stat) => stat?.cpuMs ?? 0)
    // A child that ends meanwhile would be counted twice or not at all.
    if (readExited() === exitedMs) return exitedMs + sum(running)
  }
}

/** Throughput, and the processor time per operation of the Node processes and of Postgres. */
export type CpuCost = { perSecond: number; nodeUs: number; databaseUs: number }

/** Measures the throughput and the processor time of `count` operations that `work` performs. */
export async function measureCpuCost(
  { pids, postmasterPid, count }: { pids: number[]; postmasterPid: number; count: number },
  work: () => Promise<void>,
): Promise<CpuCost> {
  const readNodeCpuMs = () => sum(pids.map(readCpuMs))
  const start = { nodeMs: readNodeCpuMs(), databaseMs: readChildrenCpuMs(postmasterPid), atMs: performance.now() }
  await work()
  return {
    perSecond: count / ((performance.now() - start.atMs) / 1000),
    nodeUs: ((readNodeCpuMs() - start.nodeMs) * 1000) / count,
    databaseUs: ((readChildrenCpuMs(postmasterPid) - start.databaseMs) * 1000) / count,
  }
}

/** Returns the processor time per operation of all processes together, in µs. */
export function totalCpu({ nodeUs, databaseUs }: CpuCost): number {
  return nodeUs + databaseUs
}
