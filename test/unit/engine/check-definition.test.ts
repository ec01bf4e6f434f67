import { expect } from 'chai'
import { listProblems } from '../../support/problems.ts'
import { ask, pause, say } from '../../support/steps.ts'

const steps = (...list: object[]) => ({ steps: list })
const yes = { left: '1', op: 'eq', right: 1 }

describe('graph checks of a definition', () => {
  const validCases: [name: string, definition: object][] = [
    ['a cycle with a wait', steps(pause('a'), say('b', 'x', { next: 'a' }))],
    ['a cycle with an ask step', steps(ask('a', { onTimeout: 'a' }), say('b', 'x', { next: 'a' }))],
    [
      'two paths that join',
      steps({ id: 'a', type: 'branch', cases: [{ if: yes, next: 'c' }] }, say('b', 'x'), say('c', 'x')),
    ],
    ['a pattern that resembles a placeholder', steps(ask('a', { expect: { type: 'text', pattern: 'a{{2}' } }))],
    ['a step after a conditional stop', steps({ id: 'a', type: 'stop', if: yes }, say('b', 'x'))],
  ]
  for (const [name, definition] of validCases) {
    it(`accept ${name} without warnings`, () => {
      expect(listProblems(definition)).to.deep.equal([])
      expect(listProblems(definition, 'warnings')).to.deep.equal([])
    })
  }

  const warningCases: [name: string, definition: object, problems: string[]][] = [
    ['no triggers', { triggers: [] }, ['no_triggers triggers']],
    ['an unreachable step', steps(say('a', 'x', { next: 'end' }), say('b', 'x')), ['unreachable_step steps.1']],
    [
      'a step after a branch whose cases and else all jump elsewhere',
      steps({ id: 'a', type: 'branch', cases: [{ if: yes, next: 'end' }], else: 'end' }, say('b', 'x')),
      ['unreachable_step steps.1'],
    ],
    ['a step after a handoff', steps({ id: 'a', type: 'handoff' }, say('b', 'x')), ['unreachable_step steps.1']],
    ['a variable that is never set', steps(say('a', '{{vars.city}}')), ['unknown_variable steps.0.message.body']],
  ]
  for (const [name, definition, expected] of warningCases) {
    it(`warn about ${name}`, () => {
      expect(listProblems(definition)).to.deep.equal([])
      expect(listProblems(definition, 'warnings')).to.deep.equal(expected)
    })
  }

  it('accept variables that are declared, saved by saveAs or set', () => {
    const definition = {
      variables: { a: { type: 'string' } },
      ...steps(
        ask('q', { saveAs: 'vars.b' }),
        { id: 's', type: 'set', values: { 'vars.c': 1, d: 2 } },
        say('t', '{{vars.a}}{{vars.b}}{{vars.c}}{{vars.d}}'),
      ),
    }
    expect(listProblems(definition, 'warnings')).to.deep.equal([])
  })
})
