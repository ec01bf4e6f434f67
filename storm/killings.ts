import { setTimeout as delay } from 'node:timers/promises'
import type { StormDatabase } from './database.ts'
import { boundariesOf, type Boundary } from './failpoints.ts'
import type { Fleet, Member, Role } from './fleet.ts'
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

const PATIENCE_MS = 10_000

/** Every boundary in turn, so that a long storm meets each of them often; the rest at any time. */
export function planKillings(random: Random, count: number): Killing[] {
  const turns = {
    worker: inTurn(random.shuffle(boundariesOf('worker'))),
    http: inTurn(random.shuffle(boundariesOf('http'))),
  }
  return Array.from({ length: count }, (_, index) => {
    const victim = victimOf(index)
    const role: Role = victim === 'database' ? random.pick(['worker', 'worker', 'http']) : victim
    const isAtBoundary = random.chance(victim === 'database' ? 0.6 : 0.8)
    return {
      victim,
      role,
      at: isAtBoundary ? turns[role]() : 'any time',
      skip: random.below(4),
      pauseMs: random.between(100, 900),
    }
  })
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

export type Struck = { victim: Killing['victim']; at: Killing['at']; wasLate: boolean }

/** Does it. A boundary that nobody reaches in time becomes a kill at any time. */
export async function strike(
  { fleet, database, random }: { fleet: Fleet; database: StormDatabase; random: Random },
  killing: Killing,
): Promise<Struck> {
  const { victim, role } = killing
  await delay(killing.pauseMs)
  while (fleet.ready(role).length === 0) await delay(20)
  const isHit =
    victim === 'database'
      ? await strikeDatabase(fleet.ready(role), database, killing)
      : await strikeMember(random.pick(fleet.ready(role)), killing)
  return { victim, at: isHit ? killing.at : 'any time', wasLate: !isHit }
}

async function strikeMember(member: Member, { at, skip }: Killing): Promise<boolean> {
  const isHit = at === 'any time' || (await member.killAt({ boundary: at, skip, victim: 'itself' }, PATIENCE_MS))
  await member.kill()
  return isHit
}

async function strikeDatabase(members: Member[], database: StormDatabase, { at, skip }: Killing): Promise<boolean> {
  const beganMs = performance.now()
  if (at !== 'any time') {
    for (const member of members) member.arm({ boundary: at, skip, victim: 'database' })
    while (database.isServed && performance.now() - beganMs < PATIENCE_MS) await delay(10)
    for (const member of members) member.disarm()
  }
  const isHit = at === 'any time' || !database.isServed
  // Those that were about to do it must have heard that they need not.
  await delay(20)
  database.kill()
  await database.startAgain()
  return isHit
}
