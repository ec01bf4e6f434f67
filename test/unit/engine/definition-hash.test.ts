import { expect } from 'chai'
import { definitionHash } from '../../../src/engine/compile/definition-hash.ts'
import { say } from '../../support/steps.ts'

describe('definitionHash', () => {
  const definition = { version: 1, steps: [say('a', 'x')], triggers: [] }

  it('ignores the order of keys and the ui field', () => {
    const moved = {
      ui: { positions: { a: [1, 2] } },
      triggers: [],
      steps: [{ type: 'send_message', message: { body: 'x' }, id: 'a' }],
      version: 1,
    }
    expect(definitionHash(moved)).to.equal(definitionHash(definition))
    expect(definitionHash(moved)).to.match(/^[0-9a-f]{64}$/)
  })

  it('changes with the steps and their order', () => {
    expect(definitionHash({ ...definition, steps: [say('a', 'y')] })).to.not.equal(definitionHash(definition))
    expect(definitionHash({ ...definition, steps: [say('a', 'x'), say('b', 'x')] })).to.not.equal(
      definitionHash({ ...definition, steps: [say('b', 'x'), say('a', 'x')] }),
    )
  })
})
