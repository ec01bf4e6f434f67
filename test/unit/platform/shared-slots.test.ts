import { expect } from 'chai'
import { SharedSlots } from '../../../src/platform/concurrency/shared-slots.ts'

describe('SharedSlots', () => {
  const takeAll = (slots: SharedSlots, key: string, max?: number) => {
    const shares = [{ key, ...(max === undefined ? {} : { max }) }]
    const releases: (() => void)[] = []
    while (!slots.findExhausted(shares)) releases.push(slots.take(shares))
    return releases
  }

  it('gives a key at most its part of the free slots', () => {
    const slots = new SharedSlots({ width: 100, part: 0.25 })
    expect(takeAll(slots, 'a')).to.have.length(20)
    expect(takeAll(slots, 'b')).to.have.length(16)
  })

  it('gives another key a slot when ten take all they may', () => {
    const slots = new SharedSlots({ width: 100, part: 0.25 })
    for (let key = 0; key < 10; key += 1) takeAll(slots, `busy ${key}`)
    expect(takeAll(slots, 'new')).to.not.have.length(0)
  })

  it('gives a key no more than its own maximum', () => {
    const slots = new SharedSlots({ width: 100, part: 0.25 })
    expect(takeAll(slots, 'a', 4)).to.have.length(4)
  })

  it('counts a slot for each of its keys until it is released, once', () => {
    const slots = new SharedSlots({ width: 8, part: 0.25 })
    const [user, network] = [{ key: 'user', max: 1 }, { key: 'network' }]
    const release = slots.take([user, network])
    expect(slots.findExhausted([network, user])).to.equal(user)
    slots.take([network])
    expect(slots.findExhausted([network])).to.equal(network)
    release()
    release()
    expect(slots.findExhausted([user, network])).to.equal(undefined)
    slots.take([user, network])
    expect(slots.findExhausted([user])).to.equal(user)
  })
})
