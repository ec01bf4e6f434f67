import type { StoredRun } from '../../../src/engine/model/stored-run.ts'
import { expect } from 'chai'
import type { ItemContent, MailboxItem, NewItem } from '../../../src/engine/mailbox/item.ts'
import { DEPTH_MAX } from '../../../src/engine/mailbox/cascade-limiter.ts'
import { MailboxProcessor } from '../../../src/engine/mailbox/processor.ts'
import type { Subject, PublishedWorkflow } from '../../../src/engine/model/subject.ts'
import { isFinished, type MessageFacts } from '../../../src/engine/model/run.ts'
import { workflowLanguage } from '../../../src/workflow-language.ts'
import { addMs, HOUR, MINUTE } from '../../../src/platform/time.ts'
import { compile, NOON, buildFacts } from '../../support/workflow.ts'
import { ask, say } from '../../support/steps.ts'

const A = '0199a7a0-0000-7000-8000-00000000000a'
const B = '0199a7a0-0000-7000-8000-00000000000b'
const on = (value: string) => [{ type: 'message_received', match: { mode: 'exact', values: [value] } }]

/** A mailbox whose items the test processes explicitly, one batch per call. */
class Box {
  now = new Date(NOON)
  isPaused = false
  isBlocked = false
  runs: StoredRun[] = []
  sent: unknown[] = []
  postponed: NewItem[] = []
  readonly #published: PublishedWorkflow[]
  #ids = 0

  constructor(definitions: Record<string, object>) {
    this.#published = Object.entries(definitions).map(([workflowId, definition]) => ({
      workflowId,
      name: workflowId,
      version: 1,
      compiled: compile(definition),
    }))
  }

  item(content: ItemContent): MailboxItem {
    return { id: this.newId(), mailbox: { kind: 'conversation', id: 'v1' }, attempts: 0, ...content }
  }

  write(...bodies: string[]): void {
    const messages = bodies.map((body) => ({ id: this.newId(), body }))
    const items = messages.map(({ id }) =>
      this.item({
        kind: 'message',
        payload: { messageId: id, event: { type: 'message_received', channelId: 'ch1' } },
      }),
    )
    this.take(items, messages)
  }

  /** Creates the timer item of the run's current wait. */
  timerOf(run: StoredRun): MailboxItem {
    return this.item({ kind: 'timer', payload: { runId: run.state.id, epoch: run.state.epoch } })
  }

  take(items: MailboxItem[], messages: MessageFacts[] = []): void {
    const { contact, conversation, workspace } = buildFacts({ conversation: { canSendFreeform: true } })
    const subject: Subject = {
      mailbox: { kind: 'conversation', id: 'v1' },
      conversationId: 'v1',
      contactId: 'c1',
      isPaused: this.isPaused,
      isPausedByReply: true,
      isBlocked: this.isBlocked,
      contact,
      conversation,
      workspace,
    }
    const turn = new MailboxProcessor({
      now: this.now,
      registry: workflowLanguage,
      subject,
      runs: this.runs.filter(({ state }) => !isFinished(state)).map((run) => ({ ...run, wakeAt: null })),
      published: this.#published,
      cascades: new Map(),
      versions: new Map(this.#published.map((workflow) => [`${workflow.workflowId}:1`, workflow])),
      messages: new Map(messages.map((message) => [message.id, message])),
      newId: () => this.newId(),
    })
    for (const item of items) turn.handle(item)
    const changed = [...turn.runs.changed]
    const untouched = this.runs.filter(({ state }) => !changed.some((run) => run.state.id === state.id))
    this.runs = [...changed, ...untouched].sort((a, b) => (a.state.id < b.state.id ? 1 : -1))
    this.postponed = turn.postponed
    const placed = turn.runs.effects.flatMap(({ requests }) => requests)
    this.sent.push(...placed.flatMap(({ effect }) => (effect.type === 'send_message' ? [effect['body']] : [])))
  }

  /** The newest run of a workflow. */
  run(workflowId: string): StoredRun {
    const run = this.runs.find((one) => one.workflowId === workflowId)
    if (!run) throw new Error(`no run of ${workflowId}`)
    return run
  }

  newId(): string {
    this.#ids += 1
    return `0199a7a0-0000-7000-9000-${String(this.#ids).padStart(12, '0')}`
  }
}

describe('MailboxProcessor', () => {
  it('ignores the timer of an earlier wait while automation is paused', () => {
    const box = new Box({ [A]: { triggers: on('go'), steps: [ask('one', { timeout: '1h' }), ask('two')] } })
    box.write('go')
    const late = box.timerOf(box.run(A))
    box.write('1')
    const { wakeAt } = box.run(A)
    box.isPaused = true
    box.take([late])
    expect(box.run(A)).to.include({ wakeAt })
  })

  it('expires an overdue run whose timer is late when the next message arrives', () => {
    const box = new Box({ [A]: { triggers: on('go'), settings: { maxDuration: '1h' }, steps: [ask('one')] } })
    box.write('go')
    const [first] = box.runs
    box.now = addMs(box.now, HOUR + MINUTE)
    box.write('go')
    expect(box.sent).to.deep.equal(['one?', 'one?'])
    expect(box.runs.find(({ state }) => state.id === first?.state.id)?.state.status).to.equal('expired')
  })

  it('cancels a child run when its parent stops waiting, before a retry starts another', () => {
    const parent = { id: 'sub', type: 'run_workflow', workflowId: B, timeout: '1h', retry: { max: 1, delay: '1m' } }
    const box = new Box({ [A]: { triggers: on('go'), steps: [parent] }, [B]: { triggers: [], steps: [ask('q')] } })
    box.write('go')
    box.now = addMs(box.now, HOUR)
    box.take([box.timerOf(box.run(A))])
    expect(box.run(B).state.status).to.equal('canceled')
    box.now = addMs(box.now, MINUTE)
    box.take([box.timerOf(box.run(A))])
    expect(box.runs.filter(({ workflowId, state }) => workflowId === B && !isFinished(state))).to.have.length(1)
    expect(box.sent).to.deep.equal(['q?', 'q?'])
  })

  it('lets a run restart its own workflow and continues the new run', () => {
    const again = { id: 'again', type: 'run_workflow', workflowId: A, if: { left: '{{input}}', op: 'empty' } }
    const box = new Box({
      [A]: { triggers: on('go'), settings: { reentry: 'restart' }, steps: [{ ...again, input: { n: 1 } }, ask('q')] },
    })
    box.write('go')
    expect(box.runs.map(({ state }) => state.status)).to.deep.equal(['waiting', 'canceled'])
    expect(box.sent).to.deep.equal(['q?'])
  })

  it('does not queue a child run behind an ancestor of the same workflow', () => {
    const sub = (workflowId: string) => ({ id: 'sub', type: 'run_workflow', workflowId, onError: 'continue' })
    const box = new Box({
      [A]: { triggers: on('go'), settings: { reentry: 'queue' }, steps: [sub(B), say('over', 'over')] },
      [B]: { triggers: [], steps: [sub(A), say('inner', 'inner')] },
    })
    box.write('go')
    expect(box.sent).to.deep.equal(['inner', 'over'])
    expect(box.runs.every(({ state }) => isFinished(state))).to.equal(true)
  })

  it('processes a message after a workflow resumed automation in the same batch', () => {
    const box = new Box({
      [A]: {
        triggers: on('over'),
        settings: { pauseOnHumanReply: false },
        steps: [{ id: 'close', type: 'close_conversation' }],
      },
      [B]: { triggers: on('hi'), steps: [say('hello', 'hello')] },
    })
    box.isPaused = true
    box.write('over', 'hi')
    expect(box.sent).to.deep.equal(['hello'])
  })

  it('starts the next queued run only after automation resumes', () => {
    const box = new Box({
      [A]: {
        triggers: on('go'),
        settings: { reentry: 'queue' },
        steps: [say('hi', 'hi'), { id: 'z', type: 'wait', for: '1h' }],
      },
    })
    box.write('go')
    const [first] = box.runs
    box.write('go')
    box.isPaused = true
    box.take([box.item({ kind: 'cancel', payload: { runId: first?.state.id ?? '' } })])
    expect([box.sent, box.run(A).state.status]).to.deep.equal([['hi'], 'queued'])
    expect(box.run(A).wakeAt).to.be.a('string')
    box.isPaused = false
    box.take([box.timerOf(box.run(A))])
    expect(box.sent).to.deep.equal(['hi', 'hi'])
  })

  it('postpones an event while automation is paused', () => {
    const box = new Box({
      [A]: {
        triggers: on('go'),
        steps: [{ id: 'paid', type: 'wait_for_event', event: 'paid' }, say('thanks', 'thanks')],
      },
    })
    box.write('go')
    box.isPaused = true
    box.take([
      box.item({
        kind: 'event',
        payload: { event: { type: 'event', event: 'paid', data: { n: 1 } }, messageId: null, depth: 0 },
      }),
    ])
    const later = box.postponed
    expect([later.length, box.sent]).to.deep.equal([1, []])
    box.isPaused = false
    box.take(later.map((item) => ({ attempts: 0, ...item })))
    expect(box.sent).to.deep.equal(['thanks'])
  })

  it('keeps queued runs in order when clocks of two machines differ', () => {
    const box = new Box({
      [A]: {
        triggers: on('go'),
        settings: { reentry: 'queue' },
        steps: [say('hi', 'hi'), { id: 'z', type: 'wait', for: '1h' }],
      },
    })
    box.write('go')
    box.write('go')
    const [second] = box.runs
    if (!second) throw new Error('no second run')
    second.state = { ...second.state, id: '0199a7a0-0000-7000-8000-000000000000' }
    box.take([box.item({ kind: 'start', payload: { runId: second.state.id } })])
    expect(box.sent).to.deep.equal(['hi'])
  })

  it('lets workflows run each other to the limit of depth and no deeper', () => {
    const ids = Array.from({ length: DEPTH_MAX + 2 }, (_, index) => A.slice(0, -2) + String(index + 10))
    const definitions = ids.map((id, index): [string, object] => {
      const next = ids[index + 1]
      const steps = next ? [{ id: 'sub', type: 'run_workflow', workflowId: next }] : [say('last')]
      return [id, { triggers: index === 0 ? on('go') : [], steps }]
    })
    const box = new Box(Object.fromEntries(definitions))
    box.write('go')
    expect(box.runs.map(({ workflowId }) => workflowId).toSorted()).to.deep.equal(ids.slice(0, DEPTH_MAX + 1))
  })

  it('lets no workflow beside a person to whom a workflow has handed over, although others replied before', () => {
    const settings = { pauseOnHumanReply: false }
    const box = new Box({
      [A]: { triggers: on('help'), settings, steps: [{ id: 'person', type: 'handoff' }] },
      [B]: { triggers: on('hi'), settings, steps: [say('hello', 'hello')] },
    })
    box.isPaused = true
    box.write('hi', 'help', 'hi')
    expect(box.sent).to.deep.equal(['hello'])
  })

  for (const [priority, sent] of [
    [0, ['colour?']],
    [1, ['colour?', 'hello']],
  ] as const) {
    it(`offers a message to the run that waits for a reply ${priority > 0 ? 'after' : 'before'} a trigger of priority ${priority}`, () => {
      const expected = { mode: 'exact', values: ['blue'] }
      const box = new Box({
        [A]: { triggers: on('go'), steps: [ask('colour')] },
        [B]: { triggers: [{ type: 'message_received', match: expected, priority }], steps: [say('hello', 'hello')] },
      })
      box.write('go')
      box.write('blue')
      expect(box.sent).to.deep.equal(sent)
      expect(box.run(A).state.status).to.equal(priority > 0 ? 'waiting' : 'completed')
    })
  }

  it('offers a message to other workflows while the run that debounces is paused', () => {
    const any = [{ type: 'message_received' }]
    const box = new Box({
      [A]: { triggers: on('go'), settings: { debounce: '3s' }, steps: [say('went', 'went')] },
      [B]: { triggers: any, settings: { pauseOnHumanReply: false }, steps: [say('hello', 'hello')] },
    })
    box.write('go')
    box.sent = []
    box.isPaused = true
    box.write('more')
    expect(box.sent).to.deep.equal(['hello'])
  })

  it('counts the messages of all parts of a run', () => {
    const box = new Box({ [A]: { triggers: on('go'), steps: [ask('one'), say('two'), say('three')] } })
    box.write('go')
    box.write('1')
    expect(box.run(A).messagesSent).to.equal(3)
  })

  it('passes an event to every run that waits for it', () => {
    const steps = [{ id: 'paid', type: 'wait_for_event', event: 'paid' }, say('thanks', 'thanks')]
    const box = new Box({ [A]: { triggers: on('go'), steps }, [B]: { triggers: on('go'), steps } })
    box.write('go')
    box.take([
      box.item({
        kind: 'event',
        payload: { event: { type: 'event', event: 'paid', data: { n: 1 } }, messageId: null, depth: 0 },
      }),
    ])
    expect(box.sent).to.deep.equal(['thanks', 'thanks'])
  })
})

describe('step ID', () => {
  it('may equal the name of an inherited object property', () => {
    const box = new Box({ [A]: { triggers: on('go'), steps: [say('constructor', 'hi')] } })
    box.write('go')
    expect(box.run(A).state).to.deep.include({ status: 'completed', visits: { constructor: 1 } })
  })
})
