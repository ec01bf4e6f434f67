import type { Role } from './app-process.ts'
import { type Failpoint, listFailpoints } from './failpoints.ts'
import type { Random } from './random.ts'

export type FaultTarget = Role | 'database'

/** A kill to inject: at a failpoint or, without one, at a random moment. */
export type Fault = {
  target: FaultTarget
  /** Role of the processes that have to reach the failpoint. */
  role: Role
  failpoint: Failpoint | undefined
  /** Number of times the failpoint is passed before it triggers. */
  skip: number
  /** Delay before the fault is injected. */
  delayMs: number
}

/** Plans four of five kills at failpoints, in rotation so that a long run reaches each often; the others are random. */
export function planFaults(random: Random, count: number): Fault[] {
  const nextFailpoint = {
    worker: rotate(orderFailpoints(random, listFailpoints('worker'))),
    http: rotate(orderFailpoints(random, listFailpoints('http'))),
  }
  return Array.from({ length: count }, (_, index) => {
    const target = selectTarget(index)
    const role: Role = target === 'database' ? random.pick(['worker', 'worker', 'http']) : target
    return {
      target,
      role,
      failpoint: random.chance(0.8) ? nextFailpoint[role]() : undefined,
      skip: random.below(3),
      delayMs: random.between(50, 500),
    }
  })
}

/** Orders failpoints so that every transaction occurs once before any occurs again, at another moment. */
function orderFailpoints(random: Random, failpoints: Failpoint[]): Failpoint[] {
  const byTransaction = new Map<string, Failpoint[]>()
  for (const failpoint of random.shuffle(failpoints)) {
    const transaction = failpoint.slice(failpoint.indexOf(' '))
    byTransaction.set(transaction, [...(byTransaction.get(transaction) ?? []), failpoint])
  }
  return Array.from({ length: failpoints.length }, (_, round) =>
    random.shuffle([...byTransaction.values()].flatMap((group) => group[round] ?? [])),
  ).flat()
}

/** Selects the target of each fault: of ten, one is the database, two are HTTP processes and seven are workers. */
function selectTarget(index: number): FaultTarget {
  const position = index % 10
  if (position === 4) return 'database'
  return position === 2 || position === 7 ? 'http' : 'worker'
}

function rotate<T>(list: T[]): () => T {
  let next = 0
  return () => list[next++ % list.length] as T
}
