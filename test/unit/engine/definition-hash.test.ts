import { expect } from 'chai'
import { definitionHash } from '../../../src/engine/compile/definition-hash.ts'
import { say } from '../../support/steps.ts'

describe('the hash of a definition', () => {
  const definition = { version: 1, steps: [say('a', 'x')], triggers: [] }

  it('does not change with the order of keys or the places on the screen', () => {
    const moved = {
      ui: { positions: { a: [1, 2] } },
      triggers: [],
      steps: [{ type: 'send_message', message: { body: 'x' }, id: 'a' }],
      version: 1,
    }
    expect(definitionHash(moved)).to.equal(definitionHash(definition))
    expect(definitionHash(moved)).to.match(/^[0-9a-f]{64}$/)
  })

  it('changes with what the definition does', () => {
    expect(definitionHash({ ...definition, steps: [say('a', 'y')] })).to.not.equal(definitionHash(definition))
    expect(definitionHash({ ...definition, steps: [say('a', 'x'), say('b', 'x')] })).to.not.equal(
      definitionHash({ ...definition, steps: [say('b', 'x'), say('a', 'x')] }),
    )
  })
})
