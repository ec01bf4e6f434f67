import { expect } from 'chai'
import { StepError } from '../../../src/engine/language/step-error.ts'
import { resolveValue, type Source } from '../../../src/engine/language/values.ts'
import { spendWork, STEP_WORK_MAX, withWorkBudget } from '../../../src/engine/language/work-budget.ts'
import { matchTrigger } from '../../../src/engine/mailbox/match-trigger.ts'
import { workflowLanguage } from '../../../src/workflow-language.ts'
import { listOfTexts, sortingDefinition } from '../../support/expensive-definitions.ts'
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

const sourceWith = (input: object): Source => ({ timezone: 'UTC', roots: { input } })
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
      any: Array.from({ length: 30 }, () => ({ left: '{{input.text}}', op: 'matches', right: PATTERN })),
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

  it('lets a trigger whose patterns exceed it match nothing', () => {
    const values = Array.from({ length: 30 }, (_, index) => `${PATTERN}${index}`)
    const compiled = compile({ triggers: [{ type: 'message_received', match: { mode: 'regex', values } }], steps: [] })
    const event = { type: 'message_received', channelId: 'ch1', message: { id: 'm', body: 'ab'.repeat(2000) } }
    const input = { compiled, event, facts: buildFacts(), now: new Date(NOON), registry: workflowLanguage }
    expect(withWorkBudget(5_000_000, () => matchTrigger(input)).result).to.deep.equal({ outcome: 'no_match' })
  })
})
