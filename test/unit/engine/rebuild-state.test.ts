import { expect } from 'chai'
import { closestMatches } from '../../../src/engine/language/closest-matches.ts'
import { rebuildState } from '../../../src/engine/replay/rebuild-state.ts'
import type { RunState, StepRecord } from '../../../src/engine/model/run.ts'
import { NOON, PlayedRun, RUN_ID } from '../../support/workflow.ts'
import { say } from '../../support/steps.ts'

type NotRecorded = { notRecorded: string }

/** Everything that there is to bring back: answers, variables, rounds, passed over and failed steps. */
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

function play(): PlayedRun {
  const run = new PlayedRun(DEFINITION, { message: { id: 'in-0', body: 'hi' } })
  run.start()
  run.reply('Bo')
  run.reply('done')
  return run
}

function recordsOf(run: PlayedRun): StepRecord[] {
  const byIndex = new Map(run.decisions.flatMap(({ steps }) => steps.map((step) => [step.index, step])))
  return [...byIndex.values()].sort((a, b) => a.index - b.index)
}

function rebuildAt(run: PlayedRun, at: number, records = recordsOf(run)): RunState | NotRecorded {
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

/** What a step came to, without what differs between any two runs. */
function gist({ stepId, path, iteration, status, branch, output, error }: StepRecord): unknown {
  return JSON.parse(
    JSON.stringify({ stepId, path, iteration, status, branch, output, error }).replaceAll(/[0-9a-f-]{36}/g, 'id'),
  )
}

describe('a state rebuilt from records', () => {
  it('goes on from any step as the run did', () => {
    const played = play()
    const records = recordsOf(played)
    expect(played.run.status).to.equal('completed')
    expect(records.map(({ path }) => path)).to.include.members(['each', 'each[2].more'])
    for (let at = 1; at < records.length; at += 1) {
      const state = rebuildAt(played, at)
      if ('notRecorded' in state) throw new Error(`${at}: ${state.notRecorded} is not recorded`)
      const again = new PlayedRun(DEFINITION, {})
      again.run = state
      again.start()
      again.take({ type: 'reply', message: { id: 'in-2', body: 'done' } })
      expect(recordsOf(again).map(gist), `from ${at}`).to.deep.equal(records.slice(at).map(gist))
      expect(again.run.variables, `from ${at}`).to.deep.equal(played.run.variables)
    }
  })

  it('says which step was not kept whole, rather than make something up', () => {
    const played = play()
    const records = recordsOf(played)
    const round = records.findIndex(({ stepId }) => stepId === 'more')
    const cut = records.map((record, index) =>
      index === round ? { ...record, output: { $truncated: true, bytes: 1, preview: '' } } : record,
    )
    expect(rebuildAt(played, round + 3, cut)).to.deep.equal({ notRecorded: 'more' })
    // What only the newest state has whole is taken from there.
    const first = records.map((record, index) => (index === 0 ? { ...record, output: '[redacted]' } : record))
    expect(rebuildAt(played, 1, first)).to.deep.nested.property('variables.name', 'Bo')
  })

  it('takes other outputs instead of recorded ones', () => {
    const played = play()
    const { compiled, registry, run: old } = played
    const given = {
      compiled,
      registry,
      old,
      records: recordsOf(played),
      at: 1,
      id: RUN_ID,
      message: null,
      now: new Date(NOON),
    }
    const state = rebuildState({ ...given, stepOutputs: { name: { value: 'Eva' } } })
    expect(state).to.have.nested.property('variables.name', 'Eva')
  })
})

describe('the nearest ids', () => {
  it('are those that take the fewest changes', () => {
    expect(closestMatches('thank', ['city', 'thanks', 'nap', 'think'])).to.deep.equal(['thanks', 'think', 'nap'])
    expect(closestMatches('a', [])).to.deep.equal([])
  })
})
