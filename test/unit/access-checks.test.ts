import { expect } from 'chai'
import { Notifications } from '../../src/platform/notifications/notifications.ts'
import { ForbiddenError } from '../../src/platform/errors.ts'
import { SECOND } from '../../src/platform/time.ts'
import { AccessChecks } from '../../src/trpc/access-checks.ts'
import { type Caller, callerId } from '../../src/trpc/caller.ts'
import { TestClock } from '../support/clock.ts'

const STREAMS = 50
const AT = new Date(0)

function buildCaller(id: string): Caller {
  return {
    session: { id, userId: id, createdAt: AT, expiresAt: AT, ipAddress: null, userAgent: null },
    user: {
      id,
      email: '',
      name: '',
      image: null,
      emailVerified: true,
      twoFactorEnabled: false,
      createdAt: AT,
      updatedAt: AT,
    },
    workspace: { id: 'workspace', role: 'viewer' },
  }
}

const checkKey = () => Promise.resolve(undefined)

/** Notifications of a single process. */
class LocalNotifications extends Notifications {
  open = () => Promise.resolve()
  close = () => Promise.resolve()
  protected send = () => undefined
}

describe('access checks of subscriptions', () => {
  it('are made once for fifty streams of a session, and again for another session and after a revocation', async () => {
    const clock = new TestClock()
    const notifications = new LocalNotifications()
    const checked: string[] = []
    const checks = new AccessChecks({
      now: () => clock.now(),
      notifications,
      checkKey,
      checkUsers: (callers) => {
        checked.push(...callers.map(callerId))
        return Promise.resolve(callers.map(() => undefined))
      },
    })
    const open = (id: string) => checks.open(buildCaller(id), () => undefined)
    const streams = [...Array.from({ length: STREAMS }, () => open('a')), open('b')]
    const checkAll = () => Promise.all(streams.map(({ check }) => check()))
    await checkAll()
    expect(checked).to.deep.equal(['a', 'b'])
    clock.advance(5 * SECOND)
    await checkAll()
    expect(checked).to.have.lengthOf(4)
    notifications.publish('revocations', 'a')
    notifications.publish('revocations', 'b')
    await checkAll()
    expect(checked).to.have.lengthOf(6)
    for (const { close } of streams) close()
    notifications.publish('revocations', 'a')
    expect(checked).to.have.lengthOf(6)
  })

  it('are made with two calls for a hundred sessions at once', async () => {
    let calls = 0
    const checks = new AccessChecks({
      now: () => AT,
      notifications: new LocalNotifications(),
      checkKey,
      checkUsers: (callers) => {
        calls += 1
        return Promise.resolve(callers.map((caller) => (callerId(caller) === '7' ? new ForbiddenError() : undefined)))
      },
    })
    const sessions = Array.from({ length: 100 }, (_, id) => checks.open(buildCaller(String(id)), () => undefined))
    const errors = await Promise.all(sessions.map(({ check }) => check()))
    for (const { close } of sessions) close()
    expect(calls).to.equal(2)
    expect(errors.flatMap((error, id) => (error ? [id] : []))).to.deep.equal([7])
  })
})
