import { expect } from 'chai'
import { problemsOf } from '../../support/problems.ts'
import { ask, pause, say } from '../../support/steps.ts'

const steps = (...list: object[]) => ({ steps: list })
const yes = { left: '1', op: 'eq', right: 1 }

describe('a sound definition', () => {
  const sound: [name: string, definition: object][] = [
    ['a circle round a wait', steps(pause('a'), say('b', 'x', { next: 'a' }))],
    ['a circle round a question', steps(ask('a', { onTimeout: 'a' }), say('b', 'x', { next: 'a' }))],
    [
      'two ways that meet',
      steps({ id: 'a', type: 'branch', cases: [{ if: yes, next: 'c' }] }, say('b', 'x'), say('c', 'x')),
    ],
    ['a pattern that looks like a placeholder', steps(ask('a', { expect: { type: 'text', pattern: 'a{{2}' } }))],
    ['a step after one that stops only if', steps({ id: 'a', type: 'stop', if: yes }, say('b', 'x'))],
  ]
  for (const [name, definition] of sound) {
    it(`may have ${name}`, () => {
      expect(problemsOf(definition)).to.deep.equal([])
      expect(problemsOf(definition, 'warnings')).to.deep.equal([])
    })
  }

  const warned: [name: string, definition: object, problems: string[]][] = [
    ['nothing that starts it', { triggers: [] }, ['no_triggers triggers']],
    [
      'a step that nothing leads to',
      steps(say('a', 'x', { next: 'end' }), say('b', 'x')),
      ['unreachable_step steps.1'],
    ],
    [
      'a step after a branch that always chooses',
      steps({ id: 'a', type: 'branch', cases: [{ if: yes, next: 'end' }], else: 'end' }, say('b', 'x')),
      ['unreachable_step steps.1'],
    ],
    ['a step after a handoff', steps({ id: 'a', type: 'handoff' }, say('b', 'x')), ['unreachable_step steps.1']],
    ['a variable that nothing fills in', steps(say('a', '{{vars.city}}')), ['unknown_variable steps.0.message.body']],
  ]
  for (const [name, definition, expected] of warned) {
    it(`is accepted, with a warning, with ${name}`, () => {
      expect(problemsOf(definition)).to.deep.equal([])
      expect(problemsOf(definition, 'warnings')).to.deep.equal(expected)
    })
  }

  it('knows the variables that are declared, saved and set', () => {
    const definition = {
      variables: { a: { type: 'string' } },
      ...steps(
        ask('q', { saveAs: 'vars.b' }),
        { id: 's', type: 'set', values: { 'vars.c': 1, d: 2 } },
        say('t', '{{vars.a}}{{vars.b}}{{vars.c}}{{vars.d}}'),
      ),
    }
    expect(problemsOf(definition, 'warnings')).to.deep.equal([])
  })
})
