import { openSync, readSync } from 'node:fs'
import { threadId } from 'node:worker_threads'

export type Cost = {
  /** CPU time of the thread of the event loop. */
  cpuMs: number
  /** The longest CPU time between two turns of the event loop. */
  holdMs: number
}

const SCHEDULER_FILE = `/proc/self/task/${process.pid}/schedstat`
const NS_PER_MS = 1e6
/** The looks cost CPU time themselves: more often, they would be much of that of an input that waits for the database. */
const LOOK_EVERY_MS = 5

/** Reads the CPU time of this thread where the system tells it, otherwise that of the process. */
const readCpuMs = openSchedulerFile() ?? (() => process.cpuUsage().user / 1000 + process.cpuUsage().system / 1000)

function openSchedulerFile(): (() => number) | undefined {
  if (threadId !== 0) return undefined
  try {
    const file = openSync(SCHEDULER_FILE, 'r')
    const buffer = Buffer.alloc(100)
    const read = () =>
      Number.parseInt(buffer.toString('latin1', 0, readSync(file, buffer, 0, buffer.length, 0)), 10) / NS_PER_MS
    return read() > 0 ? read : undefined
  } catch {
    return undefined
  }
}

/** CPU time of the reference work on a core of 3 GHz that nobody else uses. */
const REFERENCE_MS = 20
const REFERENCE_WORK = JSON.stringify(Array.from({ length: 90_000 }, (_, index) => ({ id: String(index) })))

/** Returns how many times as long as on such a core CPU time is here and now, at least 1: neighbours slow it down too. */
export function measureSlowness(): number {
  const times = Array.from({ length: 3 }, () => {
    const startMs = readCpuMs()
    JSON.parse(REFERENCE_WORK)
    return readCpuMs() - startMs
  })
  return Math.max(1, Math.min(...times) / REFERENCE_MS)
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
  const timer = setInterval(look, LOOK_EVERY_MS)
  try {
    const result = await execute()
    look()
    return { cpuMs: lastMs - startMs, holdMs, result }
  } finally {
    clearInterval(timer)
  }
}
