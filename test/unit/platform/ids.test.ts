import { expect } from 'chai'
import { validate, version } from 'uuid'
import { newId } from '../../../src/platform/ids.ts'

const MANY = 50_000

describe('newId', () => {
  const ids = Array.from({ length: MANY }, newId)

  it('returns a UUIDv7 with the current time', () => {
    const start = Date.now()
    const id = newId()
    const at = parseInt(id.replaceAll('-', '').slice(0, 12), 16)
    expect(at).to.be.within(start, Date.now() + 1000)
    expect(ids.every((each) => validate(each) && version(each) === 7)).to.equal(true)
  })

  it('returns increasing IDs, also within one millisecond', () => {
    expect(ids.toSorted()).to.deep.equal(ids)
    expect(new Set(ids).size).to.equal(MANY)
  })

  it('returns a different random part for every ID', () => {
    const tails = ids.map((id) => id.slice(-12))
    expect(new Set(tails).size).to.equal(MANY)
  })
})
