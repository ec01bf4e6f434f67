import { expect } from 'chai'
import { validate, version } from 'uuid'
import { deriveId, idAfter } from '../../../src/engine/model/derive-id.ts'
import { newId } from '../../../src/platform/ids.ts'

const FULL_MILLISECOND = '01a203b1-c302-7fff-bfff-457a578436df'

describe('idAfter', () => {
  for (const [name, previous] of Object.entries({
    'an ID of this process': newId(),
    'a derived ID': deriveId('x', 3, Date.now()),
    'the last ID of its millisecond': FULL_MILLISECOND,
    'an ID of a later time': deriveId(newId(), 0, Date.now() + 1e9),
  })) {
    it(`returns different UUIDv7s after ${name}, whose further successors follow`, () => {
      const ids = Array.from({ length: 100 }, () => idAfter(previous, newId()))
      expect(ids.every((id) => id > previous && validate(id) && version(id) === 7)).to.equal(true)
      expect(new Set(ids)).to.have.property('size', ids.length)
      const nextIds = ids.map((id) => idAfter(id, newId()))
      expect(nextIds.every((nextId) => ids.every((id) => nextId > id))).to.equal(true)
    })
  }

  it('returns IDs in the order of those before them', () => {
    const previous = Array.from({ length: 1000 }, newId)
    const ids = previous.map((id) => idAfter(id, newId()))
    expect(ids.toSorted()).to.deep.equal(ids)
  })

  it('uses the next millisecond after the last ID of one', () => {
    expect(idAfter(FULL_MILLISECOND, newId()).slice(0, 23)).to.equal('01a203b1-c303-7000-8000')
  })
})
