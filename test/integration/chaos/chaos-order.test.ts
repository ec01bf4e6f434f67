import { expect } from 'chai'
import { findOutOfOrder } from '../../../chaos/conversation-invariants.ts'

describe('findOutOfOrder', () => {
  const find = (acceptedIds: string, uncertainIds = '') =>
    findOutOfOrder([...acceptedIds], new Set(uncertainIds)).join('')

  it('findOutOfOrder accepts ascending message IDs, with or without gaps', () => {
    expect(find('abcd')).to.equal('')
    expect(find('ad')).to.equal('')
  })

  it('findOutOfOrder returns the messages that arrive late, not the newer ones that arrived before them', () => {
    expect(find('bacd')).to.equal('a')
    expect(find('cabd')).to.equal('ab')
  })

  it('findOutOfOrder accepts a late message whose delivery was unknown', () => {
    expect(find('bacd', 'a')).to.equal('')
    expect(find('bcda', 'a')).to.equal('')
  })

  it('findOutOfOrder rejects messages that a message with unknown delivery has overtaken', () => {
    expect(find('bac', 'b')).to.equal('a')
    expect(find('cab', 'a')).to.equal('b')
  })
})
