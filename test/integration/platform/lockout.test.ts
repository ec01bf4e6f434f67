import { expect } from 'chai'
import type { Attempt, Lockout, Reservation } from '../../../src/platform/rate-limit/lockout.ts'
import { MINUTE, SECOND } from '../../../src/platform/time.ts'
import { TestClock } from '../../support/clock.ts'
import { type LimitStore, openPostgresStore } from '../../support/limit-stores.ts'

const ADDRESS = '192.0.2.1'
let nextEmail = 0
const newEmail = () => `user${(nextEmail += 1)}@lockout.example`

/** Reserves an attempt from a known address, which is limited per pair of e-mail and address only. */
function reserve(lockout: Lockout, email: string, addressKey = ADDRESS): Promise<Reservation> {
  return lockout.reserve({ email, addressKey, isKnownAddress: true })
}

function requireAttempt(reservation: Reservation): Attempt {
  if (reservation.locked) throw new Error(`The account is locked for ${reservation.retryAfterSeconds} s.`)
  return reservation.attempt
}

async function fail(lockout: Lockout, email: string, times: number): Promise<void> {
  for (let time = 0; time < times; time += 1) await requireAttempt(await reserve(lockout, email)).fail()
}

function reserveConcurrently(lockouts: Lockout[], email: string, times: number): Promise<Reservation[]> {
  const pick = (index: number) => lockouts[index % lockouts.length] as Lockout
  return Promise.all(Array.from({ length: times }, (_, index) => reserve(pick(index), email)))
}

const toAttempts = (reservations: Reservation[]) => reservations.flatMap((one) => (one.locked ? [] : [one.attempt]))

describe('sign-in lockout', () => {
  const clock = new TestClock()
  let store: LimitStore
  let lockout: Lockout
  let email: string

  const isLocked = async (account = email, address = ADDRESS) => {
    const reservation = await reserve(lockout, account, address)
    if (!reservation.locked) await reservation.attempt.release()
    return reservation.locked
  }

  before(async () => {
    store = await openPostgresStore()
    lockout = (await store.open(clock)).signInLockout
  })
  beforeEach(() => {
    email = newEmail()
  })
  after(() => store.close())

  it('reserves 5 of 50 concurrent attempts and locks for 15 minutes when they fail', async () => {
    const reservations = await reserveConcurrently([lockout], email, 50)
    const attempts = toAttempts(reservations)
    expect(attempts.length).to.equal(5)
    await Promise.all(attempts.map((attempt) => attempt.fail()))
    expect(await reserve(lockout, email)).to.deep.equal({ locked: true, retryAfterSeconds: 900 })
  })

  it('lasts 15 minutes from the fifth failure', async () => {
    await fail(lockout, email, 4)
    clock.advance(10 * MINUTE)
    await fail(lockout, email, 1)
    clock.advance(15 * MINUTE - SECOND)
    expect(await reserve(lockout, email)).to.deep.equal({ locked: true, retryAfterSeconds: 1 })
    clock.advance(2 * SECOND)
    await fail(lockout, email, 4)
    expect(await isLocked()).to.equal(false)
  })

  it('is not extended by attempts while it lasts', async () => {
    await fail(lockout, email, 5)
    clock.advance(14 * MINUTE)
    const reservations = await reserveConcurrently([lockout], email, 20)
    expect(reservations).to.deep.equal(Array(20).fill({ locked: true, retryAfterSeconds: 60 }))
    clock.advance(MINUTE + SECOND)
    expect(await isLocked()).to.equal(false)
  })

  it('resets the failure count 15 minutes after the first failure', async () => {
    await fail(lockout, email, 1)
    clock.advance(15 * MINUTE - SECOND)
    await fail(lockout, email, 3)
    clock.advance(2 * SECOND)
    await fail(lockout, email, 4)
    expect(await isLocked()).to.equal(false)
    await fail(lockout, email, 1)
    expect(await isLocked()).to.equal(true)
  })

  it('resets the failure count after a success', async () => {
    await fail(lockout, email, 4)
    await requireAttempt(await reserve(lockout, email)).succeed()
    await fail(lockout, email, 4)
    expect(await isLocked()).to.equal(false)
    await fail(lockout, email, 1)
    expect(await isLocked()).to.equal(true)
  })

  it('ignores failures that were reserved before a concurrent success', async () => {
    const [first, ...others] = toAttempts(await reserveConcurrently([lockout], email, 5))
    await first?.succeed()
    for (const other of others) await other.fail()
    expect(await isLocked()).to.equal(false)
  })

  it('counts neither released attempts nor attempts rejected meanwhile', async () => {
    const attempts = toAttempts(await reserveConcurrently([lockout], email, 50))
    await Promise.all(attempts.map((attempt) => attempt.release()))
    await fail(lockout, email, 4)
    expect(await isLocked()).to.equal(false)
  })

  it('applies to one e-mail and one address, with the e-mail normalized', async () => {
    await fail(lockout, email, 5)
    expect(await isLocked(newEmail())).to.equal(false)
    expect(await isLocked(email, '192.0.2.2')).to.equal(false)
    expect(await isLocked(`  ${email.toUpperCase()} `)).to.equal(true)
    expect(await isLocked(email.replace('user', 'ｕser'))).to.equal(true)
  })

  it('is independent of the rate limit tiers', async () => {
    const limits = await store.open(clock)
    await limits.charge(ADDRESS, ['signIn'], 6)
    expect(await isLocked()).to.equal(false)
    await fail(lockout, email, 5)
    expect((await limits.charge('192.0.2.3', ['signIn'])).state.remaining).to.equal(4)
  })

  it('is shared by all processes', async () => {
    const other = (await store.open(clock)).signInLockout
    const attempts = toAttempts(await reserveConcurrently([lockout, other], email, 50))
    expect(attempts.length).to.equal(5)
    await attempts[0]?.succeed()
    await fail(other, email, 5)
    expect(await isLocked()).to.equal(true)
  })

  it('delays attempts on one account from unknown addresses, and not those from known ones', async () => {
    const guess = (addressKey: string) => lockout.reserve({ email, addressKey, isKnownAddress: false })
    for (let index = 0; index < 11; index += 1) await requireAttempt(await guess(`198.51.100.${index}`)).fail()
    for (const seconds of [30, 60, 120, 240, 480, 900, 900]) {
      expect(await guess('203.0.113.1')).to.deep.equal({ locked: true, retryAfterSeconds: seconds })
      expect(await isLocked()).to.equal(false)
      clock.advance(seconds * SECOND)
      await requireAttempt(await guess(`203.0.113.${seconds % 251}`)).fail()
    }
    await lockout.restore(email)
    expect((await guess('203.0.113.1')).locked).to.equal(false)
  })

  it('applies to a process that starts later', async () => {
    await fail(lockout, email, 5)
    const later = (await store.open(clock)).signInLockout
    expect(await reserve(later, email)).to.deep.equal({ locked: true, retryAfterSeconds: 900 })
  })
})
