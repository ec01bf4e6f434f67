import { expect } from 'chai'
import { conditions } from '../../../src/conditions/index.ts'
import { compileDefinition } from '../../../src/engine/compile/compile-definition.ts'
import { evaluateCondition } from '../../../src/engine/language/conditions.ts'
import { StepError } from '../../../src/engine/language/step-error.ts'
import { resolveValue, type Source } from '../../../src/engine/language/values.ts'
import { spendWork, STEP_WORK_MAX, withWorkBudget } from '../../../src/engine/language/work-budget.ts'
import { matchTrigger } from '../../../src/engine/mailbox/match-trigger.ts'
import { workflowLanguage } from '../../../src/workflow-language.ts'
import { listOfTexts, sortingDefinition } from '../../support/expensive-definitions.ts'
import { measureSlowness } from '../../support/measure-cost.ts'
import { say } from '../../support/steps.ts'
import { buildFacts, compile, NOON, TestRun } from '../../support/workflow.ts'

function errorCode(act: () => unknown): string {
  try {
    act()
  } catch (error) {
    if (error instanceof StepError) return error.code
    throw error
  }
  return 'none'
}

const sourceWith = (input: object): Source => ({ timezone: 'UTC', roots: { input, now: NOON } })
const PATTERN = '(?:a|b){400}c'

describe('work budget', () => {
  it('ends the work that exceeds it', () => {
    expect(errorCode(() => withWorkBudget(10, () => spendWork(10)))).to.equal('none')
    expect(errorCode(() => withWorkBudget(10, () => spendWork(11)))).to.equal('budget_exceeded')
  })

  it('counts the work of inner budgets', () => {
    const inner = () => withWorkBudget(8, () => spendWork(8))
    expect(withWorkBudget(16, () => [inner(), inner()]).spent).to.equal(16)
    expect(errorCode(() => withWorkBudget(15, () => [inner(), inner()]))).to.equal('budget_exceeded')
  })

  it('is not limited by a budget that has ended', () => {
    errorCode(() => withWorkBudget(1, () => spendWork(2)))
    expect(errorCode(() => spendWork(1e9))).to.equal('none')
  })

  for (const filter of [
    'sort',
    'sort_natural',
    'uniq',
    'sum',
    'map: "a"',
    'where: "a"',
    'reject: "a"',
    'find: "a", 1',
  ]) {
    it(`rejects lists of more than 10,000 entries for the filter ${filter}`, () => {
      const resolve = (length: number) => () =>
        resolveValue(`{{ input.x | ${filter} | size }}`, sourceWith({ x: Array.from({ length }, () => ({ a: 0 })) }))
      expect(errorCode(resolve(10_000))).to.equal('none')
      expect(errorCode(resolve(10_001))).to.equal('budget_exceeded')
    })
  }

  for (const filter of ['sort: input.path', 'map: input.path', 'where: input.path', 'find: input.path, 1']) {
    it(`rejects paths of more than 100 characters for the filter ${filter}, also in a list`, () => {
      const resolve = (path: unknown) => () =>
        resolveValue(`{{ input.x | ${filter} | size }}`, sourceWith({ x: [{ a: 0 }], path }))
      expect(errorCode(resolve('a'.repeat(100)))).to.equal('none')
      expect(errorCode(resolve('a'.repeat(101)))).to.equal('budget_exceeded')
      expect(errorCode(resolve(['a'.repeat(101)]))).to.equal('budget_exceeded')
    })
  }

  for (const [name, template, count] of [
    ['the names of a date', '{{ now | date: input.format | size }}', 1],
    ['many dates', '{{ now | date: "%H:%M" }}', 1000],
    ['ranges', '{{ (1..900000) | size }}', 5],
    ['lists and objects that become text', '{{ input.nested | abs }}', 30],
    ['lists in lists that become text', '{{ input.lists | join | size }}', 10],
  ] as const) {
    it(`ends a step for ${name}`, () => {
      const nested = { text: 'x'.repeat(250_000) }
      const source = sourceWith({ format: '%A'.repeat(1500), nested, lists: [[nested.text]] })
      const work = () => resolveValue(Array<string>(count).fill(template), source)
      expect(errorCode(() => withWorkBudget(STEP_WORK_MAX, work))).to.equal('budget_exceeded')
    })
  }

  for (const [name, left, op, right] of [
    ['an object in a long list', '{{ input.object }}', 'in', '{{ input.list }}'],
    ['a long list that contains an object', '{{ input.list }}', 'contains', '{{ input.object }}'],
    ['a long text in a long list', '{{ input.object.text }}', 'in', '{{ input.list }}'],
    ['a tag in a long list', '{{ input.list }}', 'has_tag', '{{ input.object.text }}'],
  ] as const) {
    it(`ends a condition that looks for ${name}`, () => {
      const source = sourceWith({ object: { text: 'É'.repeat(50_000) }, list: listOfTexts(2000) })
      const test = () => evaluateCondition({ left, op, right }, source, conditions.operators)
      expect(errorCode(() => withWorkBudget(STEP_WORK_MAX, test))).to.equal('budget_exceeded')
    })
  }

  it('counts comparisons of times without placeholders', () => {
    const comparison = { left: '2027-01-01 10:00', op: 'gt', right: '2026-01-01 10:00' }
    const test = () => evaluateCondition({ all: Array(5000).fill(comparison) }, sourceWith({}), conditions.operators)
    expect(errorCode(() => withWorkBudget(STEP_WORK_MAX, test))).to.equal('budget_exceeded')
  })

  it('permits the size and the entries of long lists', () => {
    const source = sourceWith({ x: listOfTexts(90_000) })
    const template = '{{ input.x | size }} {{ input.x | first }} {{ input.x[7] }}'
    const { result } = withWorkBudget(STEP_WORK_MAX, () => resolveValue(template, source))
    expect(result).to.equal('90000 t0 t55433')
  })

  it('fails a step that exceeds it, at the same place each time', () => {
    const decide = () => new TestRun(sortingDefinition(), { input: { x: listOfTexts(9000) } }).start()
    const decision = decide()
    expect([decision.run.status, decision.run.error?.code]).to.deep.equal(['failed', 'budget_exceeded'])
    expect(decide()).to.deep.equal(decision)
  })

  it('is one of each step: the next step can handle the failure', () => {
    const { triggers, steps } = sortingDefinition()
    const handled = { ...steps[0], onError: 'sorry' }
    const run = new TestRun(
      { triggers, steps: [handled, say('sorry', 'Sorry {{input.x.size}}')] },
      { input: { x: listOfTexts(9000) } },
    )
    expect(run.start().run.status).to.equal('completed')
    expect(run.sent).to.deep.equal(['Sorry 9000'])
  })

  it('fails a step whose condition exceeds it', () => {
    const condition = {
      any: Array.from({ length: 10 }, () => ({ left: '{{input.text}}', op: 'matches', right: PATTERN })),
    }
    const run = new TestRun({ steps: [{ ...say('a', 'A'), if: condition }] }, { input: { text: 'ab'.repeat(2000) } })
    expect(run.start().run.error?.code).to.equal('budget_exceeded')
  })

  it('ends a loop of expensive steps, although each of them is within its own', () => {
    const values = Object.fromEntries(sortingDefinition(4).steps.flatMap((step) => Object.entries(Object(step).values)))
    const loop = {
      id: 'loop',
      type: 'loop',
      while: { left: 1, op: 'eq', right: 1 },
      max: 50,
      steps: [{ id: 'sort', type: 'set', values }],
    }
    const run = new TestRun({ steps: [loop] }, { input: { x: listOfTexts(9000) } })
    const { result } = withWorkBudget(5_000_000, () => run.start())
    expect(result.run.error?.code).to.equal('budget_exceeded')
    expect(result.steps.length).to.be.greaterThan(3)
  })

  it('counts the values of triggers and the text that they are compared with', () => {
    const match = { mode: 'contains', values: Array.from({ length: 200 }, (_, index) => `word ${index}`) }
    const compiled = compile({ triggers: [{ type: 'message_received', match }], steps: [] })
    const event = { type: 'message_received', channelId: 'ch1', message: { id: 'm', body: 'x'.repeat(1_000_000) } }
    const input = { compiled, event, facts: buildFacts(), now: new Date(NOON), registry: workflowLanguage }
    expect(withWorkBudget(5_000_000, () => matchTrigger(input)).spent).to.be.greaterThan(100_000)
  })

  for (const [name, patternOf] of [
    ['long', (index: number) => `(?:${'abcdefghij'.repeat(20)}${index}){9}`],
    ['of classes that ignore case', (index: number) => `(?i)${'[@-\u{1e000}]'.repeat(100)}${index}`],
    ['of Unicode classes', (index: number) => `${'\\p{L}'.repeat(190)}${index}`],
    ['of groups', (index: number) => `${'(a?|'.repeat(160)}${index}${')'.repeat(160)}`],
  ] as const) {
    it(`rejects a definition of 75 patterns that are ${name}, soon`, () => {
      const values = Array.from({ length: 75 }, (_, index) => patternOf(index))
      const trigger = { type: 'message_received', match: { mode: 'regex', values } }
      const before = process.cpuUsage()
      const { errors } = compileDefinition({ version: 1, triggers: [trigger], steps: [] }, workflowLanguage)
      const { user } = process.cpuUsage(before)
      expect(errors.map(({ code }) => code)).to.include('too_many_patterns')
      expect(user / 1000 / measureSlowness()).to.be.lessThan(500)
    })

    it(`lets a trigger of 75 patterns that are ${name} match nothing, though it was compiled without a limit`, () => {
      const values = Array.from({ length: 75 }, (_, index) => `${patternOf(index)}x`)
      const match = { mode: 'regex', values: ['a'] }
      const compiled = compile({ triggers: [{ type: 'message_received', match }], steps: [] })
      const [trigger] = compiled.triggers
      const earlier = { ...compiled, triggers: [{ ...trigger!, match: { ...match, values } }] }
      const event = { type: 'message_received', channelId: 'ch1', message: { id: 'm', body: 'hello' } }
      const input = { compiled: earlier, event, facts: buildFacts(), now: new Date(NOON), registry: workflowLanguage }
      const before = process.cpuUsage()
      const found = withWorkBudget(STEP_WORK_MAX, () => matchTrigger(input)).result
      const { user } = process.cpuUsage(before)
      expect(found).to.deep.equal({ outcome: 'no_match' })
      expect(user / 1000 / measureSlowness()).to.be.lessThan(500)
    })
  }

  it('permits 200 values of a trigger that are patterns of 60 characters', () => {
    const values = Array.from(
      { length: 200 },
      (_, index) => `^(?:order|pedido|bestellung)\\s*(?:no|nr)?\\.?\\s*${index}[0-9]+$`,
    )
    compile({ triggers: [{ type: 'message_received', match: { mode: 'regex', values } }], steps: [] })
  })

  it('lets a trigger whose patterns exceed it match nothing', () => {
    const values = Array.from({ length: 10 }, (_, index) => `${PATTERN}${index}`)
    const compiled = compile({ triggers: [{ type: 'message_received', match: { mode: 'regex', values } }], steps: [] })
    const event = { type: 'message_received', channelId: 'ch1', message: { id: 'm', body: 'ab'.repeat(2000) } }
    const input = { compiled, event, facts: buildFacts(), now: new Date(NOON), registry: workflowLanguage }
    expect(withWorkBudget(5_000_000, () => matchTrigger(input)).result).to.deep.equal({ outcome: 'no_match' })
  })
})
