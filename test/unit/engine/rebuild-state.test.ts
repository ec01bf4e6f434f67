import { expect } from 'chai'
import { closestMatches } from '../../../src/platform/closest-matches.ts'
import { rebuildState } from '../../../src/engine/replay/rebuild-state.ts'
import type { RunState, StepRecord } from '../../../src/engine/model/run.ts'
import { NOON, TestRun, RUN_ID } from '../../support/workflow.ts'
import { say } from '../../support/steps.ts'

type NotRecorded = { notRecorded: string }

/** Covers all kinds of state: replies, variables, iterations, skipped and failed steps. */
const DEFINITION = {
  variables: { size: { type: 'number', default: 3 }, list: { type: 'list', default: ['a', 'b', 'c'] } },
  steps: [
    { id: 'name', type: 'ask', message: { body: 'Name?' }, saveAs: 'vars.name' },
    { id: 'count', type: 'set', values: { 'vars.size': '{{vars.size | plus: 1}}' } },
    say('skipped', 'Never', { if: { left: 1, op: 'eq', right: 2 } }),
    { id: 'date', type: 'wait', until: '{{"no date"}}', onError: 'continue' },
    {
      id: 'each',
      type: 'loop',
      over: '{{vars.list}}',
      as: 'item',
      max: 10,
      steps: [{ id: 'more', type: 'set', values: { 'vars.seen': '{{vars.seen}}{{item}}' } }],
    },
    { id: 'last', type: 'wait_for_reply', saveAs: 'vars.last' },
    say('bye', '{{vars.name}} {{vars.size}} {{vars.seen}} {{message.body}} {{steps.name.output.text}}'),
  ],
}

function play(): TestRun {
  const run = new TestRun(DEFINITION, { message: { id: 'in-0', body: 'hi' } })
  run.start()
  run.reply('Bo')
  run.reply('done')
  return run
}

function listRecords(run: TestRun): StepRecord[] {
  const byIndex = new Map(run.decisions.flatMap(({ steps }) => steps.map((step) => [step.index, step])))
  return [...byIndex.values()].sort((a, b) => a.index - b.index)
}

function rebuildAt(run: TestRun, at: number, records = listRecords(run)): RunState | NotRecorded {
  const { compiled, registry, run: old } = run
  const answered = records.slice(0, at).findLast(({ type }) => type === 'ask' || type === 'wait_for_reply')
  const message = answered ? { id: 'in-1', body: 'Bo' } : { id: 'in-0', body: 'hi' }
  return rebuildState({
    compiled,
    registry,
    old,
    records,
    at,
    id: RUN_ID,
    message,
    stepOutputs: {},
    now: new Date(NOON),
  })
}

/** Returns the result of a step without IDs, which differ between runs. */
function normalizeRecord({ stepId, path, iteration, status, branch, output, error }: StepRecord): unknown {
  return JSON.parse(
    JSON.stringify({ stepId, path, iteration, status, branch, output, error }).replaceAll(/[0-9a-f-]{36}/g, 'id'),
  )
}

describe('rebuildState', () => {
  it('returns a state that continues from any step like the original run', () => {
    const played = play()
    const records = listRecords(played)
    expect(played.run.status).to.equal('completed')
    expect(records.map(({ path }) => path)).to.include.members(['each', 'each[2].more'])
    for (let at = 1; at < records.length; at += 1) {
      const state = rebuildAt(played, at)
      if ('notRecorded' in state) throw new Error(`${at}: ${state.notRecorded} is not recorded`)
      const again = new TestRun(DEFINITION, {})
      again.run = state
      again.start()
      again.apply({ type: 'reply', message: { id: 'in-2', body: 'done' } })
      expect(listRecords(again).map(normalizeRecord), `from ${at}`).to.deep.equal(
        records.slice(at).map(normalizeRecord),
      )
      expect(again.run.variables, `from ${at}`).to.deep.equal(played.run.variables)
    }
  })

  it('names the step whose record is incomplete', () => {
    const played = play()
    const records = listRecords(played)
    const iteration = records.findIndex(({ stepId }) => stepId === 'more')
    const truncated = records.map((record, index) =>
      index === iteration ? { ...record, output: { $truncated: true, bytes: 1, preview: '' } } : record,
    )
    expect(rebuildAt(played, iteration + 3, truncated)).to.deep.equal({ notRecorded: 'more' })
    // The newest state still has the value that the record has lost.
    const first = records.map((record, index) => (index === 0 ? { ...record, output: '[redacted]' } : record))
    expect(rebuildAt(played, 1, first)).to.deep.nested.property('variables.name', 'Bo')
  })

  it('uses stepOutputs instead of recorded outputs', () => {
    const played = play()
    const { compiled, registry, run: old } = played
    const input = {
      compiled,
      registry,
      old,
      records: listRecords(played),
      at: 1,
      id: RUN_ID,
      message: null,
      now: new Date(NOON),
    }
    const state = rebuildState({ ...input, stepOutputs: { name: { value: 'Eva' } } })
    expect(state).to.have.nested.property('variables.name', 'Eva')
  })
})

describe('closestMatches', () => {
  it('returns the candidates with the smallest edit distance first', () => {
    expect(closestMatches('thank', ['city', 'thanks', 'nap', 'think'])).to.deep.equal(['thanks', 'think', 'nap'])
    expect(closestMatches('a', [])).to.deep.equal([])
  })
})
