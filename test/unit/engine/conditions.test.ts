import { expect } from 'chai'
import '../../../src/platform/validation-messages.ts'
import fc from 'fast-check'
import { Condition, conditions } from '../../../src/conditions/index.ts'
import { type Condition as ConditionValue, evaluateCondition } from '../../../src/engine/language/conditions.ts'
import type { Source } from '../../../src/engine/language/values.ts'

function evaluate(condition: ConditionValue, scope: Source): boolean {
  return evaluateCondition(condition, scope, conditions.operators)
}

const source: Source = {
  timezone: 'America/Sao_Paulo',
  roots: {
    contact: { name: 'Ana', tags: ['VIP'], groupIds: ['g1'], email: '' },
    conversation: { windowExpiresAt: '2026-03-02T13:00:00.000Z' },
    message: { body: ' Sí,   claro ' },
    vars: { n: 10, text: '10', yes: true, list: ['a', 3], empty: [], none: null, object: { a: 1 } },
    now: '2026-03-02T12:00:00.000Z',
  },
}

const OPERATORS: string[] = [
  ...(['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'contains', 'not_contains', 'starts_with', 'ends_with'] as const),
  ...(['matches', 'in', 'not_in', 'exists', 'empty', 'has_tag', 'in_group', 'is_open'] as const),
]

describe('evaluateCondition', () => {
  const cases: [left: string | number | boolean, op: string, right: unknown, result: boolean][] = [
    ['{{vars.n}}', 'eq', 10, true],
    ['{{vars.text}}', 'eq', 10, true],
    ['{{vars.n}}', 'eq', '10.0', true],
    ['{{vars.n}}', 'ne', 11, true],
    ['{{message.body}}', 'eq', 'sí, CLARO', true],
    ['{{vars.yes}}', 'eq', true, true],
    ['{{vars.yes}}', 'eq', 'true', true],
    ['{{vars.yes}}', 'eq', 1, false],
    ['{{vars.none}}', 'eq', null, true],
    ['{{vars.none}}', 'eq', '', false],
    ['{{vars.list}}', 'eq', ['a', 3], true],
    ['{{vars.n}}', 'gt', 9, true],
    ['{{vars.text}}', 'gt', '9', true],
    ['{{vars.n}}', 'gte', 10, true],
    ['{{vars.n}}', 'lt', 10, false],
    ['{{vars.none}}', 'lt', 10, false],
    ['{{vars.none}}', 'gte', 0, false],
    ['{{vars.list}}', 'gt', 0, false],
    ['abc', 'lt', 'abd', true],
    ['{{now}}', 'lt', '2026-03-02T09:00:01', true],
    ['{{now}}', 'gte', '2026-03-02T13:00:00+01:00', true],
    ['2026-10-01', 'gt', '2026-09-30', true],
    ['{{message.body}}', 'contains', 'CLAR', true],
    ['{{vars.list}}', 'contains', '3', true],
    ['{{vars.n}}', 'contains', 1, true],
    ['{{vars.none}}', 'contains', '', false],
    ['{{vars.none}}', 'not_contains', 'x', true],
    ['{{contact.name}}', 'starts_with', 'a', true],
    ['{{contact.name}}', 'ends_with', 'NA', true],
    ['{{vars.none}}', 'starts_with', '', false],
    ['{{contact.name}}', 'matches', '^A.a$', true],
    ['{{contact.name}}', 'matches', '^a', false],
    ['{{vars.n}}', 'matches', '^\\d+$', true],
    ['{{contact.name}}', 'matches', '(', false],
    ['{{contact.name}}', 'in', ['ana', 'bia'], true],
    ['{{vars.n}}', 'in', ['10'], true],
    ['{{contact.name}}', 'in', 'ana', true],
    ['{{contact.name}}', 'not_in', '{{vars.list}}', true],
    ['{{vars.none}}', 'not_in', [], true],
    ['{{vars.none}}', 'exists', undefined, false],
    ['{{vars.nothing}}', 'exists', false, true],
    ['{{contact.email}}', 'exists', undefined, true],
    ['{{contact.email}}', 'empty', undefined, true],
    ['{{vars.empty}}', 'empty', undefined, true],
    ['{{vars.none}}', 'empty', undefined, true],
    ['{{vars.n}}', 'empty', undefined, false],
    ['{{vars.n}}', 'empty', false, true],
    ['{{contact.tags}}', 'has_tag', 'vip', true],
    ['{{contact}}', 'has_tag', 'vip', true],
    ['{{contact}}', 'has_tag', 'new', false],
    ['{{vars.none}}', 'has_tag', 'vip', false],
    ['{{contact}}', 'in_group', 'g1', true],
    ['{{contact.groupIds}}', 'in_group', 'g2', false],
    ['{{conversation}}', 'is_open', undefined, true],
    ['{{conversation.windowExpiresAt}}', 'is_open', undefined, true],
    ['2026-03-02T11:59:59Z', 'is_open', undefined, false],
    ['{{vars.object}}', 'is_open', undefined, false],
  ]
  for (const [left, op, right, result] of cases) {
    it(`returns ${result} for ${left} ${op} ${JSON.stringify(right) ?? '(no right side)'}`, () => {
      expect(evaluate({ left, op, ...(right === undefined ? {} : { right }) }, source)).to.equal(result)
    })
  }

  it('combines conditions with all, any and not', () => {
    const yes = { left: 1, op: 'eq', right: 1 } as const
    const no = { not: yes }
    expect(evaluate({ all: [yes, yes] }, source)).to.equal(true)
    expect(evaluate({ all: [yes, no] }, source)).to.equal(false)
    expect(evaluate({ any: [no, yes] }, source)).to.equal(true)
    expect(evaluate({ any: [no, { not: { all: [yes] } }] }, source)).to.equal(false)
  })

  it('returns a boolean for any two values', () => {
    const side = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom('{{vars.list}}', '{{vars.object}}', '{{x | sort}}', '{{', '{{a|b}}'),
    )
    fc.assert(
      fc.property(fc.constantFrom(...OPERATORS), side, side, (op, left, right) => {
        const sourceWithInput = { ...source, roots: { ...source.roots, input: left } }
        expect(evaluate({ left: '{{input}}', op, right }, sourceWithInput)).to.be.a('boolean')
        if (typeof left === 'string') expect(evaluate({ left, op, right }, sourceWithInput)).to.be.a('boolean')
      }),
    )
  })

  it('evaluates a nested quantifier on a long text without catastrophic backtracking', () => {
    const started = performance.now()
    const long = { ...source, roots: { input: `${'a'.repeat(60_000)}!` } }
    expect(evaluate({ left: '{{input}}', op: 'matches', right: '^(a+)+$' }, long)).to.equal(false)
    expect(performance.now() - started).to.be.below(5000)
  })
})

describe('Condition schema', () => {
  const invalidCases: [condition: unknown, path: string, message: string][] = [
    [{}, '', 'must be one of all, any, not, or left with op'],
    [{ all: [] }, 'all', 'must have at least one'],
    [{ left: 'a' }, 'op', 'is required'],
    [{ op: 'eq', right: 1 }, 'left', 'is required'],
    [{ left: 'a', op: 'eq' }, 'right', 'is required by "eq"'],
    [{ left: 'a', op: 'is', right: 1 }, 'op', 'must be one of'],
    [{ left: 'a', op: 'eq', right: 1, not: { left: 'a', op: 'exists' } }, '', 'must be one of'],
    [{ not: { any: [{ left: 'a', op: 'eq', rigth: 1 }] } }, 'not.any.0', 'rigth'],
    [{ left: 'a', op: 'matches', right: '(' }, 'right', 'RE2'],
    [{ left: 'a', op: 'matches', right: '(?=a)' }, 'right', 'RE2'],
    [{ left: {}, op: 'exists' }, 'left', 'must be text'],
  ]
  for (const [condition, path, message] of invalidCases) {
    it(`rejects ${JSON.stringify(condition)} at the path "${path}"`, () => {
      const result = Condition.safeParse(condition)
      expect(result.error?.issues.map((issue) => issue.path.join('.'))).to.include(path)
      const texts = result.error?.issues.map((issue) => ('keys' in issue ? issue.keys.join() : issue.message))
      expect(texts?.join()).to.include(message)
    })
  }
})
