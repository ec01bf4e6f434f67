import type { Role } from '../app-process.ts'
import { type Failpoint, listFailpoints } from '../failpoints.ts'
import type { Random } from '../random.ts'
import type {
  Cut,
  Disk,
  Empty,
  Fault,
  FaultKind,
  Freeze,
  Kill,
  Lock,
  Moment,
  NodeOutage,
  Partition,
  Skew,
} from './fault.ts'

export type PlanOptions = {
  kills: number
  /** Number of the other faults, spread evenly between the kills. */
  faults: number
  kinds: readonly FaultKind[]
  /** Longest duration of a fault, and the leases that some freezes outlast if that leaves the time. */
  longestMs: number
  leaseMs: number
  /** Number of recipients of broadcasts. */
  broadcast: number
}

/** Tables that every message is written to, in several places, and that of the position of each webhook endpoint. */
const LOCKED_TABLES = [
  'run_steps',
  'messages',
  'mailbox_items',
  'outbox',
  'events',
  'conversations',
  'runs',
  'run_waits',
  'webhook_endpoints',
]

/** Plans the faults of a run; the same random numbers give the same plan. */
export function planFaults(random: Random, options: PlanOptions): Fault[] {
  const kills = planKills(random.fork(), options.kinds.includes('kill') ? options.kills : 0, options)
  const others = planOthers(random.fork(), options)
  const toPositions = (list: Fault[]) => list.map((fault, index) => ({ fault, position: (index + 0.5) / list.length }))
  return [...toPositions(kills), ...toPositions(others)]
    .sort((a, b) => a.position - b.position)
    .map(({ fault }) => fault)
}

/** Plans four of five kills at failpoints, in rotation so that a long run reaches each often; the others are random. */
function planKills(random: Random, count: number, { broadcast }: PlanOptions): Kill[] {
  const scope = { hasBroadcasts: broadcast > 0 }
  const nextFailpoint = {
    worker: rotate(orderFailpoints(random, listFailpoints('worker', scope))),
    http: rotate(orderFailpoints(random, listFailpoints('http', scope))),
  }
  return Array.from({ length: count }, (_, index) => {
    const target = selectTarget(index)
    const role: Role = target === 'database' ? random.pick(['worker', 'worker', 'http']) : target
    return {
      kind: 'kill',
      target,
      role,
      failpoint: random.chance(0.8) ? nextFailpoint[role]() : undefined,
      skip: random.below(3),
      ...plan(random),
    }
  })
}

const RANDOM_MOMENT: Moment = { role: 'worker', failpoint: undefined, skip: 0 }

type Planner = (random: Random, options: PlanOptions) => Fault

/** Plans the other faults: the kinds take turns, and within a kind its variants. */
function planOthers(random: Random, options: PlanOptions): Fault[] {
  const kinds = (['cut', 'partition', 'freeze', 'lock', 'empty', 'skew', 'disk', 'node'] as const).filter((kind) =>
    options.kinds.includes(kind),
  )
  if (kinds.length === 0) return []
  const planners = createPlanners(random, options)
  const next = rotate(random.shuffle(kinds))
  return Array.from({ length: options.faults }, () => planners[next()](random, options))
}

function createPlanners(random: Random, { broadcast }: PlanOptions): Record<Exclude<FaultKind, 'kill'>, Planner> {
  const hasBroadcasts = broadcast > 0
  const nextMoment = rotateMoments(random, hasBroadcasts)
  const nextFrozen = rotateMoments(random, hasBroadcasts, (failpoint) =>
    /^inside|(?:provider|webhook) call/.test(failpoint),
  )
  const nextCut = rotate(random.shuffle<Cut['scope']>(['one', 'process', 'process', 'all', 'repeated']))
  const nextPartition = rotate(
    random.shuffle<Pick<Partition, 'scope' | 'keepsConnections'>>([
      { scope: 'process', keepsConnections: false },
      { scope: 'process', keepsConnections: true },
      { scope: 'all', keepsConnections: false },
      { scope: 'all', keepsConnections: true },
    ]),
  )
  const nextLength = rotate(random.shuffle(['short', 'medium', 'medium', 'long'] as const))
  const nextTable = rotate(random.shuffle(LOCKED_TABLES))
  let nextNode = 0
  const nextSkewed = rotate(random.shuffle<Role>(['http', 'worker']))
  return {
    cut: (_, { longestMs }): Cut => {
      const scope = nextCut()
      const isAtFailpoint = scope === 'one' || scope === 'process'
      return {
        kind: 'cut',
        scope,
        durationMs: random.between(2000, Math.min(15_000, longestMs)),
        ...(isAtFailpoint ? nextMoment() : RANDOM_MOMENT),
        ...plan(random),
      }
    },
    partition: (_, { longestMs }): Partition => ({
      kind: 'partition',
      ...nextPartition(),
      durationMs: random.between(2000, Math.min(20_000, longestMs)),
      ...nextMoment(),
      ...plan(random),
    }),
    freeze: (_, options): Freeze => ({
      kind: 'freeze',
      durationMs: freezeMs(random, nextLength(), options),
      ...nextFrozen(),
      ...plan(random),
    }),
    lock: (_, { longestMs }): Lock => ({
      kind: 'lock',
      table: nextTable(),
      durationMs: random.between(2000, Math.min(60_000, longestMs)),
      ...plan(random),
    }),
    empty: (_, { longestMs }): Empty => ({
      kind: 'empty',
      durationMs: random.between(2000, Math.min(15_000, longestMs)),
      ...plan(random),
    }),
    skew: (): Skew => ({
      kind: 'skew',
      role: nextSkewed(),
      offsetMs: random.between(300, 5000) * random.pick([-1, 1]),
      ...plan(random),
    }),
    disk: (_, { longestMs }): Disk => ({
      kind: 'disk',
      durationMs: random.between(2000, Math.min(15_000, longestMs)),
      ...plan(random),
    }),
    node: (_, { longestMs }): NodeOutage => ({
      kind: 'node',
      index: nextNode++,
      durationMs: random.between(2000, Math.min(20_000, longestMs)),
      ...plan(random),
    }),
  }
}

/** Short: a pause. Medium: jobs are unlocked and idle transactions end. Long: all leases expire. */
function freezeMs(random: Random, length: 'short' | 'medium' | 'long', { longestMs, leaseMs }: PlanOptions): number {
  const durationMs = {
    short: random.between(500, 4000),
    medium: random.between(11_000, 20_000),
    long: leaseMs + random.between(5000, 10_000),
  }
  return Math.min(durationMs[length], longestMs)
}

/** Plans moments in rotation over the failpoints that match, of which workers have most. */
function rotateMoments(
  random: Random,
  hasBroadcasts: boolean,
  matches: (failpoint: Failpoint) => boolean = () => true,
): () => Moment {
  const next = {
    worker: rotate(orderFailpoints(random, listFailpoints('worker', { hasBroadcasts }).filter(matches))),
    http: rotate(orderFailpoints(random, listFailpoints('http', { hasBroadcasts }).filter(matches))),
  }
  const nextRole = rotate(random.shuffle<Role>(['worker', 'worker', 'http']))
  return () => {
    const role = nextRole()
    return { role, failpoint: next[role](), skip: random.below(3) }
  }
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

/** Selects the target of each kill: of ten, one is the database, two are HTTP processes and seven are workers. */
function selectTarget(index: number): Kill['target'] {
  const position = index % 10
  if (position === 4) return 'database'
  return position === 2 || position === 7 ? 'http' : 'worker'
}

function plan(random: Random): { seed: number; delayMs: number } {
  return { seed: random.below(2 ** 32), delayMs: random.between(50, 500) }
}

function rotate<T>(list: T[]): () => T {
  let next = 0
  return () => list[next++ % list.length] as T
}
