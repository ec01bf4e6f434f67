import { expect } from 'chai'
import { findLate } from '../../chaos/conversation-invariants.ts'

describe('the order in which a provider takes messages', () => {
  const late = (taken: string, doubted = '') => findLate([...taken], new Set(doubted)).join('')

  it('is that of their ids, some of which may be missing', () => {
    expect(late('abcd')).to.equal('')
    expect(late('ad')).to.equal('')
  })

  it('names whoever was overtaken, and not those that overtook it', () => {
    expect(late('bacd')).to.equal('a')
    expect(late('cabd')).to.equal('ab')
  })

  it('lets a message come late that was in doubt, whatever it is overtaken by', () => {
    expect(late('bacd', 'a')).to.equal('')
    expect(late('bcda', 'a')).to.equal('')
  })

  it('lets no message come early because it was in doubt', () => {
    expect(late('bac', 'b')).to.equal('a')
    expect(late('cab', 'a')).to.equal('b')
  })
})
