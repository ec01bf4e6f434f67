import { expect } from 'chai'
import {
  checkEvents,
  type Delivery,
  type Endpoint,
  type Outcome,
  type StoredEvent,
} from '../../../chaos/event-invariants.ts'
import type { ReceivedCall } from '../../../chaos/event-receiver.ts'

const [WORKSPACE, OTHER] = ['workspace', 'other workspace']
const FULL: Endpoint = {
  tenantId: WORKSPACE,
  id: 'full',
  types: ['message.*', 'run.failed'],
  payload: 'full',
  start: 2,
}
const THIN: Endpoint = { ...FULL, id: 'thin', payload: 'thin' }
const AT = '2026-11-26T09:30:00.900Z'
const SECOND = Date.parse('2026-11-26T09:30:00Z') / 1000

const event = (position: number, type = 'message.sent', tenantId = WORKSPACE): StoredEvent => {
  return { tenantId, id: `event-${position}`, position, type }
}
const call = (sequence: number, change: Partial<ReceivedCall> = {}): ReceivedCall => ({
  endpointId: FULL.id,
  eventId: `event-${sequence}`,
  tenantId: WORKSPACE,
  sequence,
  type: 'message.sent',
  signedAt: SECOND,
  bodyHash: `body of ${sequence}`,
  isSigned: true,
  status: 200,
  isLost: false,
  ...change,
})
const attempt = (statusCode: number | null, secondsLater = 0) => {
  const at = new Date(Date.parse(AT) + secondsLater * 1000).toISOString()
  return { at, statusCode, error: statusCode === 200 ? null : 'unexpected_status' }
}
const delivery = (position: number, attempts = [attempt(200)], status = 'delivered'): Delivery => {
  return { endpointId: FULL.id, eventId: `event-${position}`, status, attempts }
}
const retried = (position: number) => delivery(position, [attempt(500), attempt(200, 5)])

/** Events 3 to 5, each delivered at once, unless a test changes that. */
function check(change: Partial<Outcome>) {
  const events = [event(1), event(2), event(3), event(4), event(5)]
  const outcome = {
    endpoints: [FULL],
    events,
    deliveries: [delivery(3), delivery(4), delivery(5)],
    calls: [call(3), call(4), call(5)],
    ...change,
  }
  const [arrival, content, signatures, bodies, order, records] = checkEvents(outcome)
  const violations = Object.entries({ arrival, content, signatures, bodies, order, records }).flatMap(
    ([name, result]) => ((result?.violations.length ?? 0) > 0 ? name : []),
  )
  return violations.join(' ')
}

describe('checkEvents', () => {
  it('checkEvents accepts events that arrive once, in their order and as they are stored', () => {
    expect(check({})).to.equal('')
  })

  it('checkEvents accepts portions that a killed process could not record, which come again', () => {
    expect(check({ calls: [call(3), call(4), call(3), call(4), call(5)] })).to.equal('')
  })

  it('checkEvents rejects an event that did not arrive and has no delivery', () => {
    expect(check({ calls: [call(3), call(5)], deliveries: [delivery(3), delivery(5)] })).to.equal('arrival')
  })

  it('checkEvents rejects an event whose answer was no success, or was lost, and whose delivery does not say so', () => {
    const deliveries = [delivery(3), delivery(4)]
    for (const change of [{ status: 500 }, { status: null }, { isLost: true }])
      expect(check({ deliveries, calls: [call(3), call(4), call(5, change)] })).to.equal('arrival')
    const waiting = delivery(5, [attempt(500)], 'waiting')
    expect(
      check({ deliveries: [...deliveries, waiting], calls: [call(3), call(4), call(5, { status: 500 })] }),
    ).to.equal('')
  })

  it('checkEvents expects the events after the creation of an endpoint that are of its types', () => {
    const others = [event(6, 'run.failed'), event(7, 'run.started'), event(8, 'message.sent', OTHER)]
    const events = [event(3), event(4), event(5), ...others]
    expect(check({ events })).to.equal('arrival')
    expect(check({ events, calls: [call(3), call(4), call(5), call(6, { type: 'run.failed' })] })).to.equal('')
  })

  it('checkEvents rejects an event that does not exist, is of another workspace or type, or has another position', () => {
    const events = [event(3), event(4), event(5), event(6, 'run.started'), event(7, 'message.sent', OTHER)]
    const checkCall = (extra: ReceivedCall) => check({ events, calls: [call(3), call(4), call(5), extra] })
    expect(checkCall(call(9))).to.equal('content')
    expect(checkCall(call(6, { type: 'run.started' }))).to.equal('content')
    expect(checkCall(call(6, { type: 'message.sent' }))).to.equal('content')
    expect(checkCall(call(7, { tenantId: OTHER }))).to.equal('content')
    expect(checkCall(call(7))).to.equal('content')
    expect(check({ calls: [call(3), call(4), call(5, { sequence: 6 })] })).to.equal('content')
  })

  it('checkEvents rejects a wrong signature, but not one that the receiver could not verify', () => {
    expect(check({ calls: [call(3), call(4), call(5, { isSigned: false })] })).to.equal('signatures')
    const unknown = call(3, { isSigned: null, status: 503 })
    expect(check({ calls: [unknown, call(3), call(4), call(5)] })).to.equal('')
  })

  it('checkEvents rejects another body in the attempt after a recorded failure', () => {
    const deliveries = [delivery(3), delivery(4), retried(5)]
    const checkBody = (bodyHash: string) =>
      check({
        deliveries,
        calls: [call(3), call(4), call(5, { status: 500 }), call(5, { signedAt: SECOND + 6, bodyHash })],
      })
    expect(checkBody('body of 5')).to.equal('')
    expect(checkBody('another')).to.equal('bodies')
  })

  it('checkEvents accepts another body after an attempt that was not recorded, unless it is thin', () => {
    const calls = [call(3), call(4), call(5, { bodyHash: 'before', signedAt: SECOND - 20 }), call(5)]
    expect(check({ calls })).to.equal('')
    const atThin = <T extends object>(list: T[]) => list.map((item) => ({ ...item, endpointId: THIN.id }))
    const deliveries = atThin([delivery(3), delivery(4), delivery(5)])
    expect(check({ endpoints: [THIN], deliveries, calls: atThin(calls) })).to.equal('bodies')
  })

  it('checkEvents rejects events that come in another order', () => {
    expect(check({ calls: [call(3), call(5), call(4)] })).to.equal('order')
  })

  it('checkEvents accepts an event that comes late because it failed before, recorded or by a process whose portion came again', () => {
    const calls = [call(3), call(5), call(4, { signedAt: SECOND + 6 })]
    expect(
      check({ deliveries: [delivery(3), retried(4), delivery(5)], calls: [call(4, { status: 500 }), ...calls] }),
    ).to.equal('')
    const refused = delivery(4, [attempt(null), attempt(200, 5)])
    expect(check({ deliveries: [delivery(3), refused, delivery(5)], calls })).to.equal('')
    expect(check({ calls: [call(3), call(5), call(3), call(4), call(5)] })).to.equal('')
  })

  it('checkEvents rejects a delivery that counts as delivered without a success of the receiver at that time', () => {
    const checkCall = (change: Partial<ReceivedCall>) =>
      check({ calls: [call(3), call(4), call(5, change), call(5, { signedAt: SECOND + 60 })] })
    expect(checkCall({})).to.equal('')
    for (const change of [{ status: 500 }, { isLost: true }, { signedAt: SECOND - 1 }])
      expect(checkCall(change)).to.equal('records')
  })

  it('checkEvents rejects a status that contradicts the attempts, and an answer that was not given', () => {
    expect(check({ deliveries: [delivery(3), delivery(4), delivery(5, [attempt(null)])] })).to.equal('records')
    expect(check({ deliveries: [delivery(3), delivery(4), delivery(5, undefined, 'failed')] })).to.equal('records')
    const failed = delivery(5, [{ ...attempt(500), error: null }])
    const calls = [call(3), call(4), call(5, { status: 500 })]
    expect(check({ deliveries: [delivery(3), delivery(4), failed], calls })).to.equal('arrival records')
    const wrong = delivery(5, [attempt(503), attempt(200)])
    expect(check({ deliveries: [delivery(3), delivery(4), wrong] })).to.equal('records')
  })
})
