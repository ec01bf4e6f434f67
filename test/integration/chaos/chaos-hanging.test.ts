import { expect } from 'chai'
import type { ResponseMode } from '../../../chaos/hanging-channels.ts'
import { checkFaultFree, findDishonest } from '../../../chaos/hanging-invariants.ts'

const UNKNOWN = { status: 'failed', errorCode: 'delivery_unknown' }

describe('findDishonest', () => {
  const find = (message: { status: string; errorCode: string | null }, response?: ResponseMode) =>
    findDishonest([{ id: 'm', ...message }], new Map(response ? [['m', response]] : [])).length

  it('findDishonest accepts an unknown delivery, whether the provider responded or not', () => {
    for (const response of ['at_once', 'late', 'never', undefined] as const)
      expect(find(UNKNOWN, response), response).to.equal(0)
  })

  it('findDishonest accepts a sent message only if the provider responded', () => {
    const sent = { status: 'sent', errorCode: null }
    expect([find(sent, 'at_once'), find(sent, 'late')]).to.deep.equal([0, 0])
    expect([find(sent, 'never'), find(sent)]).to.deep.equal([1, 1])
  })

  it('findDishonest rejects a message that has not ended, or that failed for another reason', () => {
    expect(find({ status: 'sending', errorCode: null }, 'never')).to.equal(1)
    expect(find({ status: 'queued', errorCode: null })).to.equal(1)
    expect(find({ status: 'failed', errorCode: 'undeliverable' }, 'never')).to.equal(1)
  })
})

describe('checkFaultFree', () => {
  const CALM = Array<number>(9).fill(100).concat(300)
  const check = (change: object) => {
    const phase = { calm: CALM, hanging: CALM, openRequests: 20, unattached: [], ...change }
    return checkFaultFree(phase).map(({ violations }) => violations.length)
  }

  it('checkFaultFree accepts replies that take twice as long as before and a pause of half a second', () => {
    expect(check({})).to.deep.equal([0, 0])
    expect(check({ hanging: [...CALM, 1100] })).to.deep.equal([0, 0])
  })

  it('checkFaultFree rejects replies of which more than a tenth take longer', () => {
    expect(check({ hanging: [...CALM, 1101, 1101] })).to.deep.equal([1, 0])
  })

  it('checkFaultFree rejects a measurement in which the provider did not hang', () => {
    expect(check({ openRequests: 0 })).to.deep.equal([1, 0])
  })

  it('checkFaultFree rejects each status that is on no message', () => {
    expect(check({ unattached: ['read of wamid.1', 'sent of wamid.1'] })).to.deep.equal([0, 2])
  })
})
