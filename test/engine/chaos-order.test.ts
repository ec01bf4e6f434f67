import { expect } from 'chai'
import { findOutOfOrder } from '../../chaos/conversation-invariants.ts'

describe('findOutOfOrder', () => {
  const find = (acceptedIds: string, uncertainIds = '') =>
    findOutOfOrder([...acceptedIds], new Set(uncertainIds)).join('')

  it('accepts ascending IDs, with or without gaps', () => {
    expect(find('abcd')).to.equal('')
    expect(find('ad')).to.equal('')
  })

  it('returns the messages that arrive late, not the newer ones that arrived before them', () => {
    expect(find('bacd')).to.equal('a')
    expect(find('cabd')).to.equal('ab')
  })

  it('accepts a late message whose delivery was unknown', () => {
    expect(find('bacd', 'a')).to.equal('')
    expect(find('bcda', 'a')).to.equal('')
  })

  it('does not allow a message to arrive early because its delivery was unknown', () => {
    expect(find('bac', 'b')).to.equal('a')
    expect(find('cab', 'a')).to.equal('b')
  })
})
