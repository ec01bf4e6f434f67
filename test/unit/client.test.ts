import { expect } from 'chai'
import { createParleyClient } from '../../packages/client/src/index.ts'

describe('the typed client without an EventSource', () => {
  it('throws when a subscription is made, and names the option', () => {
    expect('EventSource' in globalThis).to.equal(false)
    const parley = createParleyClient({ url: 'http://localhost', tenantId: '0199c0de-0000-7000-8000-000000000002' })
    expect(() => parley.events.follow.subscribe({}, {})).to.throw(/createParleyClient as the option `EventSource`/)
  })
})
