import { readFileSync } from 'node:fs'
import { threadId } from 'node:worker_threads'

export type Cost = {
  /** CPU time of the thread of the event loop. */
  cpuMs: number
  /** The longest CPU time between two turns of the event loop. */
  holdMs: number
}

const SCHEDULER_FILE = `/proc/self/task/${process.pid}/schedstat`
const NS_PER_MS = 1e6

/** Reads the CPU time of this thread where the system tells it, otherwise that of the process. */
const readCpuMs = hasSchedulerFile()
  ? () => Number.parseInt(readFileSync(SCHEDULER_FILE, 'latin1'), 10) / NS_PER_MS
  : () => process.cpuUsage().user / 1000 + process.cpuUsage().system / 1000

function hasSchedulerFile(): boolean {
  if (threadId !== 0) return false
  try {
    return Number.parseInt(readFileSync(SCHEDULER_FILE, 'latin1'), 10) > 0
  } catch {
    return false
  }
}

/** Measures CPU time, which other processes of the machine do not lengthen, until `execute` has ended. */
export async function measureCost<Result>(execute: () => Promise<Result>): Promise<Cost & { result: Result }> {
  const startMs = readCpuMs()
  let lastMs = startMs
  let holdMs = 0
  const look = () => {
    const nowMs = readCpuMs()
    holdMs = Math.max(holdMs, nowMs - lastMs)
    lastMs = nowMs
  }
  const timer = setInterval(look, 1)
  try {
    const result = await execute()
    look()
    return { cpuMs: lastMs - startMs, holdMs, result }
  } finally {
    clearInterval(timer)
  }
}
