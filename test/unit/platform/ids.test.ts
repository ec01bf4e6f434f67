import { expect } from 'chai'
import { validate, version } from 'uuid'
import { newId } from '../../../src/platform/ids.ts'

const MANY = 50_000

describe('an id', () => {
  const ids = Array.from({ length: MANY }, newId)

  it('is a UUIDv7 that carries the time it was made', () => {
    const before = Date.now()
    const id = newId()
    const at = parseInt(id.replaceAll('-', '').slice(0, 12), 16)
    expect(at).to.be.within(before, Date.now() + 1000)
    expect(ids.every((each) => validate(each) && version(each) === 7)).to.equal(true)
  })

  it('sorts behind those that were made before, however many a moment has', () => {
    expect(ids.toSorted()).to.deep.equal(ids)
    expect(new Set(ids).size).to.equal(MANY)
  })

  it('cannot be guessed from the one before', () => {
    const tails = ids.map((id) => id.slice(-12))
    expect(new Set(tails).size).to.equal(MANY)
  })
})
