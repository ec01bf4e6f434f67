import { expect } from 'chai'
import {
  type DialogueEntry,
  type SimulationTrace,
  simulate,
  type SimulatedWorld,
  type Simulation,
} from '../../../src/engine/simulate/simulate.ts'
import { queueRun } from '../../../src/engine/model/run.ts'
import { defineStep } from '../../../src/engine/model/step.ts'
import { simulatedConversation } from '../../../src/features/simulations/simulated-conversation.ts'
import { HOUR, MINUTE } from '../../../src/platform/time.ts'
import { z } from 'zod'
import { compile, languageWith, NOON, RUN_ID, someFacts } from '../../support/workflow.ts'
import { say } from '../../support/steps.ts'

const CHILD = '0199c0de-0005-7000-8000-000000000001'
const PARTY = {
  mailbox: { kind: 'conversation' as const, id: 'v1' },
  conversationId: 'v1',
  contactId: 'c1',
  isPaused: false,
  isPausedByReply: false,
}

const ON_MESSAGE = [{ type: 'message_received', match: { mode: 'any' } }]

/** Asks outside for a price, whatever a real step would do. */
const lookup = defineStep({
  type: 'lookup',
  schema: z.strictObject({}),
  execute: () => ({
    kind: 'external',
    request: { type: 'http', url: 'https://a.example' },
    input: { url: 'https://a.example' },
  }),
})
const registry = languageWith(lookup)
const world: SimulatedWorld = { ...simulatedConversation, listEvents: () => [], callExternal: () => undefined }

function says(body: string, afterMs = 0): DialogueEntry {
  return { type: 'message', body, afterMs }
}

function play(definition: object, dialogue: DialogueEntry[], more: Partial<Simulation> = {}): SimulationTrace {
  const { contact, conversation, workspace } = someFacts()
  const workflow = { workflowId: 'f1', name: 'Welcome', version: 1, compiled: compile(definition, registry) }
  return simulate({
    now: new Date(NOON),
    registry,
    subject: { ...PARTY, contact, conversation, workspace },
    published: [workflow],
    dialogue,
    world,
    ...more,
  })
}

function said({ transcript }: SimulationTrace): string[] {
  return transcript.map(({ from, body }) => `${from}: ${body}`)
}

function trail({ runs }: SimulationTrace): string[] {
  return runs.flatMap(({ steps }) => steps.map(({ stepId, status }) => `${stepId}:${status}`))
}

describe('a simulation', () => {
  const ASKING = {
    triggers: ON_MESSAGE,
    steps: [
      {
        id: 'name',
        type: 'ask',
        message: { body: 'Your name?' },
        saveAs: 'vars.name',
        timeout: '1h',
        onTimeout: 'nudge',
      },
      say('hello', 'Hello {{vars.name}}', { next: 'end' }),
      say('nudge', 'Still there?'),
    ],
  }

  it('plays a dialogue to its end, with the steps and the words of a live run', () => {
    const played = play(ASKING, [says('hi'), says('Bo', MINUTE)])
    expect(said(played)).to.deep.equal(['customer: hi', 'workflow: Your name?', 'customer: Bo', 'workflow: Hello Bo'])
    expect(trail(played)).to.deep.equal(['name:completed', 'hello:completed'])
    expect(played).to.include({ ended: 'finished', reason: null, endedAt: '2026-03-02T12:01:00.000Z' })
    expect(played.runs[0]?.state.variables).to.deep.equal({ name: 'Bo' })
    expect(played.effects.map(({ type, stepId }) => [type, stepId])).to.deep.equal([
      ['send_message', 'name'],
      ['send_message', 'hello'],
    ])
  })

  it('rings a timer when what comes next is later, at its own time', () => {
    const played = play(ASKING, [says('hi'), says('Bo', 2 * HOUR)])
    const nudge = played.transcript.find(({ body }) => body === 'Still there?')
    expect(nudge?.at).to.equal('2026-03-02T13:00:00.000Z')
    expect(played.runs).to.have.length(2)
  })

  it('ends waiting where a reply is missing, and says for what', () => {
    const played = play(ASKING, [says('hi')])
    expect(played).to.deep.include({
      ended: 'waiting',
      reason: { code: 'waiting', stepId: 'name', for: 'reply', until: '2026-03-02T13:00:00.000Z' },
    })
  })

  it('jumps over waits that nobody has to end', () => {
    const steps = [{ id: 'sleep', type: 'wait', for: '20h' }, say('later', 'Good morning')]
    const played = play({ triggers: ON_MESSAGE, steps }, [says('hi')])
    expect(played).to.include({ ended: 'finished', endedAt: '2026-03-03T08:00:00.000Z' })
    expect(said(played).at(-1)).to.equal('workflow: Good morning')
  })

  it('closes the window a day after the last message, as live', () => {
    const steps = [{ id: 'sleep', type: 'wait', for: '25h' }, say('later', 'Too late')]
    const [run] = play({ triggers: ON_MESSAGE, steps }, [says('hi')]).runs
    expect(run?.state.error).to.deep.include({ code: 'outside_window', stepId: 'later' })
  })

  it('gives steps what they are told the outside answers, and a placeholder else', () => {
    const definition = { triggers: ON_MESSAGE, steps: [{ id: 'price', type: 'lookup', saveAs: 'vars.price' }] }
    const bare = play(definition, [says('hi')])
    expect(bare.runs[0]?.state.variables).to.deep.equal({ price: { simulated: true } })
    const told = play(definition, [says('hi')], {
      world: { ...world, callExternal: ({ stepId }) => ({ ok: true, output: `of ${stepId}` }) },
    })
    expect(told.runs[0]?.state.variables).to.deep.equal({ price: 'of price' })
    const error = { code: 'http_500', message: 'It broke', retryable: false }
    const failed = play(definition, [says('hi')], { world: { ...world, callExternal: () => ({ ok: false, error }) } })
    expect(failed.runs[0]?.state).to.deep.include({
      status: 'failed',
      error: { code: 'http_500', message: 'It broke', stepId: 'price' },
    })
  })

  it('starts nothing where no trigger is met, and says so', () => {
    const triggers = [{ type: 'message_received', match: { mode: 'exact', values: ['order'] } }]
    expect(play({ triggers, steps: [say('a', 'A')] }, [says('hi')])).to.deep.include({ ended: 'not_started', runs: [] })
  })

  it('begins with a run that is given to it', () => {
    const compiled = compile({ steps: [say('a', 'For {{input.who}}')] })
    const workflow = { workflowId: 'f1', name: 'W', version: 3, compiled }
    const state = queueRun(compiled, { id: RUN_ID, trigger: { type: 'api' }, input: { who: 'you' } }, new Date(NOON))
    const played = play({ steps: [] }, [], { queued: { workflow, state } })
    expect(said(played)).to.deep.equal(['workflow: For you'])
    expect(played.runs[0]).to.include({ id: RUN_ID, workflowVersion: 3 })
  })

  it('comes to the same whenever it is played again', () => {
    const dialogue = [says('hi'), says('Bo', MINUTE)]
    expect(play(ASKING, dialogue)).to.deep.equal(play(ASKING, dialogue))
  })

  it('ends by itself after a year of its clock, and when its time is up', () => {
    const steps = [
      { id: 'sleep', type: 'wait', for: '29d' },
      { id: 'again', type: 'set', values: { a: 1 }, next: 'sleep' },
    ]
    const settings = { maxDuration: '365d' }
    const dialogue: DialogueEntry[] = [
      says('hi'),
      { type: 'advance', afterMs: 364 * 24 * HOUR },
      says('hi'),
      { type: 'advance', afterMs: 364 * 24 * HOUR },
    ]
    const played = play({ triggers: ON_MESSAGE, settings, steps }, dialogue)
    expect(played.reason).to.deep.equal({ code: 'limit_reached', limit: 'virtual_time' })
    expect(play(ASKING, [says('hi')], { isOutOfTime: () => true })).to.deep.include({
      ended: 'not_started',
      reason: { code: 'limit_reached', limit: 'real_time' },
    })
  })

  it('collects a burst of messages as live', () => {
    const settings = { debounce: '5s' }
    const steps = [say('echo', '{{message.body}}')]
    const played = play({ triggers: ON_MESSAGE, settings, steps }, [
      says('one'),
      says('two', 2000),
      says('three', MINUTE),
    ])
    expect(said(played)).to.deep.equal([
      'customer: one',
      'customer: two',
      'workflow: one\ntwo',
      'customer: three',
      'workflow: three',
    ])
  })

  it('lets a workflow run another, which nothing else starts', () => {
    const child = {
      workflowId: CHILD,
      name: 'Child',
      version: 2,
      compiled: compile({ steps: [say('hi', 'From the child')] }),
    }
    const parent = compile({
      triggers: ON_MESSAGE,
      steps: [{ id: 'sub', type: 'run_workflow', workflowId: CHILD }, say('back', 'Back')],
    })
    const workflow = { workflowId: 'f1', name: 'Parent', version: 1, compiled: parent }
    const played = play({ steps: [] }, [says('hello')], { published: [workflow, child] })
    expect(said(played)).to.deep.equal(['customer: hello', 'workflow: From the child', 'workflow: Back'])
    expect(played.runs.map(({ workflowVersion, state }) => [workflowVersion, state.status])).to.deep.equal([
      [1, 'completed'],
      [2, 'completed'],
    ])
  })

  it('wakes a run with the event it waits for, and rests while a person talks', () => {
    const steps = [
      { id: 'paid', type: 'wait_for_event', event: 'paid' },
      { id: 'person', type: 'handoff', resumeAfter: '2h' },
      say('back', 'Paid {{steps.paid.output.data.sum}}'),
    ]
    const event: DialogueEntry = {
      type: 'event',
      event: { type: 'event', event: 'paid', data: { sum: 7 } },
      afterMs: MINUTE,
    }
    const played = play({ triggers: ON_MESSAGE, steps }, [says('hi'), event, says('anybody?', MINUTE)])
    expect(said(played)).to.deep.equal(['customer: hi', 'customer: anybody?', 'workflow: Paid 7'])
    expect(played).to.include({ ended: 'finished', endedAt: '2026-03-02T14:01:00.000Z' })
  })

  it('goes on with what an effect makes happen', () => {
    const triggers = [...ON_MESSAGE, { type: 'event', event: 'again' }]
    const steps = [
      {
        id: 'tell',
        type: 'emit',
        event: 'again',
        if: { left: '{{trigger.type}}', op: 'eq', right: 'message_received' },
      },
    ]
    const listEvents: SimulatedWorld['listEvents'] = ({ type }) =>
      type === 'emit' ? [{ type: 'event', event: 'again', data: null }] : []
    const played = play({ triggers, steps, settings: { reentry: 'parallel' } }, [says('hi')], {
      world: { ...world, listEvents },
    })
    expect(played.runs.map(({ state }) => state.trigger['type'])).to.deep.equal(['message_received', 'event'])
  })
})
