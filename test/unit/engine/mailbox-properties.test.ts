import type { StoredRun } from '../../../src/engine/model/stored-run.ts'
import { countCascadesAmong } from '../../../src/engine/mailbox/cascade-limiter.ts'
import { expect } from 'chai'
import fc from 'fast-check'
import type { ItemContent, MailboxItem } from '../../../src/engine/mailbox/item.ts'
import { MailboxProcessor } from '../../../src/engine/mailbox/processor.ts'
import type { Subject, PublishedWorkflow } from '../../../src/engine/model/subject.ts'
import { isFinished, type MessageFacts } from '../../../src/engine/model/run.ts'
import { addMs, HOUR } from '../../../src/platform/time.ts'
import { workflowLanguage } from '../../../src/workflow-language.ts'
import { compile, NOON, buildFacts } from '../../support/workflow.ts'
import { say } from '../../support/steps.ts'

const CHILD = '0199a7a0-0000-7000-8000-0000000000c0'
const ON_MESSAGE = [{ type: 'message_received' }]

/** Bodies of workflows that interact with each other in different ways. */
const BODIES: object[] = [
  { triggers: ON_MESSAGE, steps: [say('a', 'Got {{message.body}}')] },
  {
    triggers: ON_MESSAGE,
    steps: [{ id: 'a', type: 'ask', message: { body: 'How many?' }, expect: { type: 'number' } }],
  },
  { triggers: ON_MESSAGE, steps: [{ id: 'a', type: 'wait', for: '30m' }, say('b', 'Later')] },
  { triggers: ON_MESSAGE, steps: [{ id: 'a', type: 'http', url: 'https://api.example.com' }, say('b', 'Asked')] },
  { triggers: ON_MESSAGE, steps: [{ id: 'a', type: 'run_workflow', workflowId: CHILD }, say('b', 'Both')] },
  { triggers: ON_MESSAGE, steps: [{ id: 'a', type: 'wait_for_event', event: 'paid' }, say('b', 'Paid')] },
  { triggers: [{ type: 'message_received', match: { mode: 'exact', values: ['stop'] }, priority: 1 }], steps: [] },
  { triggers: [{ type: 'event', event: 'paid' }], steps: [{ id: 'a', type: 'handoff', resumeAfter: '2h' }] },
]

const settings = fc.record({
  reentry: fc.constantFrom('ignore', 'restart', 'queue', 'parallel'),
  debounce: fc.constantFrom('0s', '0s', '5s'),
})

const workflows = fc
  .tuple(fc.array(fc.tuple(fc.nat(BODIES.length - 1), settings), { minLength: 1, maxLength: 4 }), settings)
  .map(([chosen, ofChild]) => [
    publish(CHILD, { settings: ofChild, triggers: [], steps: [{ id: 'a', type: 'wait_for_reply' }] }),
    ...chosen.map(([body, own], index) =>
      publish(`0199a7a0-0000-7000-8000-0000000001${String(index).padStart(2, '0')}`, {
        ...BODIES[body],
        settings: own,
      }),
    ),
  ])

function publish(workflowId: string, definition: object): PublishedWorkflow {
  return { workflowId, name: workflowId, version: 1, compiled: compile(definition) }
}

type Happening =
  { kind: 'message'; body: string } | { kind: 'event' | 'ring' | 'answer' | 'cancel' | 'pause'; body?: undefined }

const happening = fc.record({
  afterMs: fc.oneof(fc.constant(0), fc.nat(10_000), fc.nat(3 * HOUR)),
  happens: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom('hi', '7', 'stop').map((body): Happening => ({ kind: 'message', body })) },
    {
      weight: 5,
      arbitrary: fc.constantFrom<Happening>(
        { kind: 'event' },
        { kind: 'ring' },
        { kind: 'ring' },
        { kind: 'answer' },
        { kind: 'cancel' },
        { kind: 'pause' },
      ),
    },
  ),
})

type Played = { turn: MailboxProcessor; before: string; item: MailboxItem }

/** Processes the items of one mailbox one by one; state is serialized and restored between items. */
class Life {
  now = new Date(NOON)
  runs: StoredRun[] = []
  isPaused = false
  readonly played: Played[] = []
  readonly #published: PublishedWorkflow[]
  #ids = 0

  constructor(published: PublishedWorkflow[]) {
    this.#published = published
  }

  live(happenings: { afterMs: number; happens: Happening }[]): this {
    for (const { afterMs, happens } of happenings) {
      this.now = addMs(this.now, afterMs)
      if (happens.kind === 'pause') this.isPaused = !this.isPaused
      for (const item of this.#itemsOf(happens)) this.#take(item, happens.body)
    }
    return this
  }

  /** Processes an item again, from serialized state. */
  again({ before, item }: Played, body?: string): MailboxProcessor {
    const turn = this.#turn(JSON.parse(before) as Snapshot, body)
    turn.handle(item)
    return turn
  }

  #itemsOf({ kind }: Happening): MailboxItem[] {
    const mail = (rest: ItemContent): MailboxItem => ({
      id: this.#newId(),
      mailbox: { kind: 'conversation', id: 'v1' },
      attempts: 0,
      ...rest,
    })
    const open = this.runs.filter(({ state }) => !isFinished(state))
    switch (kind) {
      case 'message':
        return [mail({ kind, payload: { messageId: 'm', event: { type: 'message_received', channelId: 'ch1' } } })]
      case 'event':
        return [
          mail({
            kind,
            payload: { event: { type: 'event', event: 'paid', data: { n: 1 } }, messageId: null, depth: 0 },
          }),
        ]
      case 'cancel':
        return open.slice(0, 1).map(({ state }) => mail({ kind, payload: { runId: state.id } }))
      case 'answer':
        return open
          .filter(({ state }) => state.waiting?.for === 'result')
          .map(({ state: { id, epoch } }) =>
            mail({ kind: 'result', payload: { runId: id, epoch, result: { ok: true, output: { status: 200 } } } }),
          )
      case 'ring':
        return open
          .filter(({ wakeAt }) => wakeAt !== null && Date.parse(wakeAt) <= this.now.getTime())
          .map(({ state: { id, epoch } }) => mail({ kind: 'timer', payload: { runId: id, epoch } }))
      case 'pause':
        return []
    }
  }

  #take(item: MailboxItem, body?: string): void {
    const { runs, now, isPaused } = this
    const before = JSON.stringify({ runs, now, isPaused, ids: this.#ids } satisfies Snapshot)
    const turn = this.again({ before, item } as Played, body)
    this.played.push({ turn, before, item })
    const changed = [...turn.runs.changed].map((run): StoredRun =>
      JSON.parse(JSON.stringify({ ...run, hasStarted: undefined })),
    )
    const untouched = this.runs.filter(({ state }) => !changed.some((run) => run.state.id === state.id))
    this.runs = [...changed, ...untouched].sort((a, b) => (a.state.id < b.state.id ? 1 : -1))
  }

  #turn({ runs, now, isPaused, ids }: Snapshot, body = ''): MailboxProcessor {
    const { contact, conversation, workspace } = buildFacts({ conversation: { canSendFreeform: true } })
    const subject: Subject = {
      mailbox: { kind: 'conversation', id: 'v1' },
      conversationId: 'v1',
      contactId: 'c1',
      isPaused,
      isPausedByReply: false,
      isBlocked: false,
      contact,
      conversation,
      workspace,
    }
    this.#ids = ids
    return new MailboxProcessor({
      now: new Date(now),
      registry: workflowLanguage,
      subject,
      runs: runs.filter(({ state }) => !isFinished(state)),
      cascades: countCascadesAmong(runs, new Date(now)),
      published: this.#published,
      versions: new Map(this.#published.map((workflow) => [`${workflow.workflowId}:1`, workflow])),
      messages: new Map<string, MessageFacts>([['m', { id: 'm', body }]]),
      newId: () => this.#newId(),
    })
  }

  #newId(): string {
    this.#ids += 1
    return `0199a7a0-0000-7000-9000-${String(this.#ids).padStart(12, '0')}`
  }
}

type Snapshot = { runs: StoredRun[]; now: Date; isPaused: boolean; ids: number }

function everyLife(check: (life: Life, published: PublishedWorkflow[]) => void): void {
  fc.assert(
    fc.property(workflows, fc.array(happening, { maxLength: 15 }), (published, happenings) =>
      check(new Life(published).live(happenings), published),
    ),
    { numRuns: 150 },
  )
}

describe('MailboxProcessor, for any workflows and any items', () => {
  it('leaves every run finished, with a wake-up time or queued behind an active run', () => {
    everyLife(({ runs }) => {
      const open = runs.filter(({ state }) => !isFinished(state))
      for (const { state, wakeAt, workflowId } of open) {
        if (state.status === 'waiting' || state.debouncing) expect(wakeAt).to.be.a('string')
        else {
          expect(state.status).to.equal('queued')
          const ahead = open.filter((other) => other.workflowId === workflowId && other.state.id < state.id)
          expect(ahead.length).to.be.greaterThan(0)
        }
      }
    })
  })

  it('enforces the reentry policy of every workflow', () => {
    everyLife(({ runs }, published) => {
      for (const { workflowId, compiled } of published) {
        const { reentry } = compiled.settings
        const open = runs.filter((run) => run.workflowId === workflowId && !isFinished(run.state))
        const begun = open.filter(({ state }) => state.status !== 'queued')
        if (reentry !== 'parallel') expect(begun.length).to.be.at.most(1)
        if (reentry === 'ignore' || reentry === 'restart') expect(open.length).to.be.at.most(1)
      }
    })
  })

  it('is deterministic when the same item is processed again', () => {
    everyLife((life) => {
      for (const one of life.played.filter(({ item }) => item.kind !== 'message')) {
        expect(serialize(life.again(one))).to.equal(serialize(one.turn))
      }
    })
  })

  it('starts no run and emits no effect while automation is paused', () => {
    everyLife(({ played }) => {
      for (const { turn, before, item } of played) {
        if (!(JSON.parse(before) as Snapshot).isPaused || item.kind === 'cancel') continue
        expect([turn.runs.effects, turn.runs.calls]).to.deep.equal([[], []])
        expect([...turn.runs.changed].filter(({ hasStarted }) => hasStarted)).to.deep.equal([])
      }
    })
  })

  it('leaves no run waiting for a finished child run unless the result was postponed', () => {
    everyLife(({ runs, played }) => {
      const postponed = new Set(
        played.flatMap(({ turn }) =>
          turn.postponed.map(({ kind, payload }) => (kind === 'result' ? `${payload.runId}:${payload.epoch}` : '')),
        ),
      )
      for (const child of runs.filter(({ state }) => state.parent)) {
        const parent = runs.find(({ state }) => state.id === child.state.parent?.runId)
        const isAwaited = parent?.state.waiting?.for === 'result' && parent.state.epoch === child.state.parent?.epoch
        if (isFinished(child.state))
          expect(isAwaited && !postponed.has(`${parent.state.id}:${parent.state.epoch}`)).to.equal(false)
        else expect(parent && isFinished(parent.state)).to.equal(false)
      }
    })
  })
})

function serialize({ runs, evaluated, postponed }: MailboxProcessor): string {
  return JSON.stringify([[...runs.changed], runs.steps, runs.effects, runs.calls, evaluated, postponed])
}
