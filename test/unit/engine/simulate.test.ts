import { expect } from 'chai'
import { z } from 'zod'
import {
  type DialogueEntry,
  type SimulationTrace,
  simulate,
  type Simulation,
} from '../../../src/engine/simulate/simulate.ts'
import type { SimulatedWorld } from '../../../src/engine/simulate/simulated-world.ts'
import { queueRun } from '../../../src/engine/model/new-run.ts'
import { defineStep } from '../../../src/engine/model/step.ts'
import { simulatedConversation } from '../../../src/features/simulations/simulated-conversation.ts'
import { HOUR, MINUTE } from '../../../src/platform/time.ts'
import { compile, languageWith, NOON, RUN_ID, buildFacts } from '../../support/workflow.ts'
import { say } from '../../support/steps.ts'

const CHILD = '0199c0de-0005-7000-8000-000000000001'
const PARTY = {
  mailbox: { kind: 'conversation' as const, id: 'v1' },
  conversationId: 'v1',
  contactId: 'c1',
  isPaused: false,
  isPausedByReply: false,
  isBlocked: false,
}

const ON_MESSAGE = [{ type: 'message_received', match: { mode: 'any' } }]

/** A step that makes an external request. */
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

function customerMessage(body: string, afterMs = 0): DialogueEntry {
  return { type: 'message', body, afterMs }
}

function play(definition: object, dialogue: DialogueEntry[], more: Partial<Simulation> = {}): SimulationTrace {
  const { contact, conversation, workspace } = buildFacts()
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

function toLines({ transcript }: SimulationTrace): string[] {
  return transcript.map(({ from, body }) => `${from}: ${body}`)
}

function toTrail({ runs }: SimulationTrace): string[] {
  return runs.flatMap(({ steps }) => steps.map(({ stepId, status }) => `${stepId}:${status}`))
}

describe('simulate', () => {
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

  it('returns the transcript, steps, effects and variables of a completed dialogue', () => {
    const trace = play(ASKING, [customerMessage('hi'), customerMessage('Bo', MINUTE)])
    expect(toLines(trace)).to.deep.equal(['customer: hi', 'workflow: Your name?', 'customer: Bo', 'workflow: Hello Bo'])
    expect(toTrail(trace)).to.deep.equal(['name:completed', 'hello:completed'])
    expect(trace).to.include({ outcome: 'finished', reason: null, finishedAt: '2026-03-02T12:01:00.000Z' })
    expect(trace.runs[0]?.state.variables).to.deep.equal({ name: 'Bo' })
    expect(trace.effects.map(({ type, stepId }) => [type, stepId])).to.deep.equal([
      ['send_message', 'name'],
      ['send_message', 'hello'],
    ])
  })

  it('fires a timer at its due time before a later message', () => {
    const trace = play(ASKING, [customerMessage('hi'), customerMessage('Bo', 2 * HOUR)])
    const nudge = trace.transcript.find(({ body }) => body === 'Still there?')
    expect(nudge?.at).to.equal('2026-03-02T13:00:00.000Z')
    expect(trace.runs).to.have.length(2)
  })

  it('ends waiting with the reason when the dialogue has no reply', () => {
    const trace = play(ASKING, [customerMessage('hi')])
    expect(trace).to.deep.include({
      outcome: 'waiting',
      reason: { code: 'waiting', stepId: 'name', for: 'reply', until: '2026-03-02T13:00:00.000Z' },
    })
  })

  it('skips waits of a fixed duration', () => {
    const steps = [{ id: 'sleep', type: 'wait', for: '20h' }, say('later', 'Good morning')]
    const trace = play({ triggers: ON_MESSAGE, steps }, [customerMessage('hi')])
    expect(trace).to.include({ outcome: 'finished', finishedAt: '2026-03-03T08:00:00.000Z' })
    expect(toLines(trace).at(-1)).to.equal('workflow: Good morning')
  })

  it('closes the service window 24 hours after the last message', () => {
    const steps = [{ id: 'sleep', type: 'wait', for: '25h' }, say('later', 'Too late')]
    const [run] = play({ triggers: ON_MESSAGE, steps }, [customerMessage('hi')]).runs
    expect(run?.state.error).to.deep.include({ code: 'outside_window', stepId: 'later' })
  })

  it('returns given results to external steps and a placeholder otherwise', () => {
    const definition = { triggers: ON_MESSAGE, steps: [{ id: 'price', type: 'lookup', saveAs: 'vars.price' }] }
    const withPlaceholder = play(definition, [customerMessage('hi')])
    expect(withPlaceholder.runs[0]?.state.variables).to.deep.equal({ price: { simulated: true } })
    const withResult = play(definition, [customerMessage('hi')], {
      world: { ...world, callExternal: ({ stepId }) => ({ ok: true, output: `of ${stepId}` }) },
    })
    expect(withResult.runs[0]?.state.variables).to.deep.equal({ price: 'of price' })
    const error = { code: 'http_500', message: 'It broke', retryable: false }
    const failed = play(definition, [customerMessage('hi')], {
      world: { ...world, callExternal: () => ({ ok: false, error }) },
    })
    expect(failed.runs[0]?.state).to.deep.include({
      status: 'failed',
      error: { code: 'http_500', message: 'It broke', stepId: 'price' },
    })
  })

  it('ends not_started when no trigger matches', () => {
    const triggers = [{ type: 'message_received', match: { mode: 'exact', values: ['order'] } }]
    expect(play({ triggers, steps: [say('a', 'A')] }, [customerMessage('hi')])).to.deep.include({
      outcome: 'not_started',
      runs: [],
    })
  })

  it('executes a queued run', () => {
    const compiled = compile({ steps: [say('a', 'For {{input.who}}')] })
    const workflow = { workflowId: 'f1', name: 'W', version: 3, compiled }
    const state = queueRun(compiled, { id: RUN_ID, trigger: { type: 'api' }, input: { who: 'you' } }, new Date(NOON))
    const trace = play({ steps: [] }, [], { queued: { workflow, state } })
    expect(toLines(trace)).to.deep.equal(['workflow: For you'])
    expect(trace.runs[0]).to.include({ id: RUN_ID, workflowVersion: 3 })
  })

  it('is deterministic', () => {
    const dialogue = [customerMessage('hi'), customerMessage('Bo', MINUTE)]
    expect(play(ASKING, dialogue)).to.deep.equal(play(ASKING, dialogue))
  })

  it('ends after one year of simulated time and when its time limit is reached', () => {
    const steps = [
      { id: 'sleep', type: 'wait', for: '29d' },
      { id: 'again', type: 'set', values: { a: 1 }, next: 'sleep' },
    ]
    const settings = { maxDuration: '365d' }
    const dialogue: DialogueEntry[] = [
      customerMessage('hi'),
      { type: 'advance', afterMs: 364 * 24 * HOUR },
      customerMessage('hi'),
      { type: 'advance', afterMs: 364 * 24 * HOUR },
    ]
    const trace = play({ triggers: ON_MESSAGE, settings, steps }, dialogue)
    expect(trace.reason).to.deep.equal({ code: 'limit_reached', limit: 'virtual_time' })
    expect(play(ASKING, [customerMessage('hi')], { isOutOfTime: () => true })).to.deep.include({
      outcome: 'not_started',
      reason: { code: 'limit_reached', limit: 'real_time' },
    })
  })

  it('debounces a burst of messages', () => {
    const settings = { debounce: '5s' }
    const steps = [say('echo', '{{message.body}}')]
    const trace = play({ triggers: ON_MESSAGE, settings, steps }, [
      customerMessage('one'),
      customerMessage('two', 2000),
      customerMessage('three', MINUTE),
    ])
    expect(toLines(trace)).to.deep.equal([
      'customer: one',
      'customer: two',
      'workflow: one\ntwo',
      'customer: three',
      'workflow: three',
    ])
  })

  it('executes a child workflow of a run_workflow step', () => {
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
    const trace = play({ steps: [] }, [customerMessage('hello')], { published: [workflow, child] })
    expect(toLines(trace)).to.deep.equal(['customer: hello', 'workflow: From the child', 'workflow: Back'])
    expect(trace.runs.map(({ workflowVersion, state }) => [workflowVersion, state.status])).to.deep.equal([
      [1, 'completed'],
      [2, 'completed'],
    ])
  })

  it('resumes a run with its event and waits while a handoff pauses automation', () => {
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
    const trace = play({ triggers: ON_MESSAGE, steps }, [
      customerMessage('hi'),
      event,
      customerMessage('anybody?', MINUTE),
    ])
    expect(toLines(trace)).to.deep.equal(['customer: hi', 'customer: anybody?', 'workflow: Paid 7'])
    expect(trace).to.include({ outcome: 'finished', finishedAt: '2026-03-02T14:01:00.000Z' })
  })

  it('processes the events that an effect emits', () => {
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
    const trace = play({ triggers, steps, settings: { reentry: 'parallel' } }, [customerMessage('hi')], {
      world: { ...world, listEvents },
    })
    expect(trace.runs.map(({ state }) => state.trigger['type'])).to.deep.equal(['message_received', 'event'])
  })
})
