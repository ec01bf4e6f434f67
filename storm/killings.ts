import { setTimeout as delay } from 'node:timers/promises'
import type { Crowd } from './crowd.ts'
import type { StormDatabase } from './database.ts'
import { boundariesOf, type Boundary } from './failpoints.ts'
import type { Fleet } from './fleet.ts'
import type { Role } from './member.ts'
import type { Random } from './random.ts'

export type Killing = {
  victim: Role | 'database'
  /** Whose transactions lead to it. */
  role: Role
  at: 'any time' | Boundary
  /** How often the boundary is passed before. */
  skip: number
  pauseMs: number
}

/** How long a boundary is waited for, and how often somebody is called meanwhile whose conversation passes it. */
const PATIENCE_MS = 10_000
const CALL_MS = 250

/** Four of five at a boundary, each in turn, so that a long storm meets all of them often; the rest at any time. */
export function planKillings(random: Random, count: number): Killing[] {
  const turns = {
    worker: inTurn(dealt(random, boundariesOf('worker'))),
    http: inTurn(dealt(random, boundariesOf('http'))),
  }
  return Array.from({ length: count }, (_, index) => {
    const victim = victimOf(index)
    const role: Role = victim === 'database' ? random.pick(['worker', 'worker', 'http']) : victim
    return {
      victim,
      role,
      at: random.chance(0.8) ? turns[role]() : 'any time',
      skip: random.below(3),
      pauseMs: random.between(50, 500),
    }
  })
}

/** In an order in which every transaction comes up before one does for the second time, at another moment then. */
function dealt(random: Random, boundaries: Boundary[]): Boundary[] {
  const piles = new Map<string, Boundary[]>()
  for (const boundary of random.shuffle(boundaries)) {
    const transaction = boundary.slice(boundary.indexOf(' '))
    piles.set(transaction, [...(piles.get(transaction) ?? []), boundary])
  }
  return Array.from({ length: boundaries.length }, (_, round) =>
    random.shuffle([...piles.values()].flatMap((pile) => pile[round] ?? [])),
  ).flat()
}

/** Of ten, one is the database and two answer HTTP. */
function victimOf(index: number): Killing['victim'] {
  const place = index % 10
  if (place === 4) return 'database'
  return place === 2 || place === 7 ? 'http' : 'worker'
}

function inTurn<T>(list: T[]): () => T {
  let next = 0
  return () => list[next++ % list.length] as T
}

/** `missed`: nobody came to this boundary in time. */
export type Struck = { victim: Killing['victim']; at: Killing['at']; missed: Boundary | undefined }

type Field = { fleet: Fleet; database: StormDatabase; crowd: Crowd; random: Random }

/**
 * Does it. Whoever comes to the boundary first dies, or has the database die; if nobody does in time, it is a kill at
 * any time.
 */
export async function strike(field: Field, killing: Killing): Promise<Struck> {
  const { fleet, database, crowd, random } = field
  const { victim, role, at, skip } = killing
  await delay(killing.pauseMs)
  while (fleet.ready(role).length === 0) await delay(20)
  const members = fleet.ready(role)
  const isDatabase = victim === 'database'
  const isStruck = () => (isDatabase ? !database.isServed : members.some(({ isGone }) => isGone))
  if (at !== 'any time') {
    for (const member of members) member.arm({ boundary: at, skip, victim: isDatabase ? 'database' : 'itself' })
    await lead(crowd, at, isStruck)
    for (const member of members) member.disarm()
  }
  const isHit = at !== 'any time' && isStruck()
  if (isDatabase) await strikeDatabase(database)
  else if (!isHit) await random.pick(members).kill()
  return { victim, at: isHit ? at : 'any time', missed: isHit || at === 'any time' ? undefined : at }
}

/** Resolves when it has happened, or nobody has patience any more. */
async function lead(crowd: Crowd, boundary: Boundary, hasHappened: () => boolean): Promise<void> {
  const beganMs = performance.now()
  let calledMs = beganMs
  while (!hasHappened()) {
    const nowMs = performance.now()
    if (nowMs - beganMs > PATIENCE_MS) return
    if (nowMs - calledMs > CALL_MS) {
      crowd.call(boundary)
      calledMs = nowMs
    }
    await delay(10)
  }
}

async function strikeDatabase(database: StormDatabase): Promise<void> {
  // Those that were about to do it must have heard that they need not.
  await delay(20)
  database.kill()
  await database.start()
}

export function describe({ victim, at, missed }: Struck): string {
  return `${victim} at ${at}${missed ? `, as nobody came to ${missed}` : ''}`
}
