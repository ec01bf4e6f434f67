import type { StoredRun, RunTrigger } from '../model/stored-run.ts'
import type { EvaluatedEvent, Evaluation, Outcome } from '../model/evaluation.ts'
import type { MailboxItem } from './mailbox.ts'
import { matchTrigger, triggerPriority, type TriggerEvent } from './match-trigger.ts'
import type { MailboxInput } from './mailbox-input.ts'
import { DEPTH_MAX, ActiveRuns } from './active-runs.ts'
import type { PublishedWorkflow } from '../model/subject.ts'
import type { JsonObject, MessageFacts } from '../model/run.ts'
import type { ExternalResult } from '../model/step.ts'

const FAULT = { code: 'internal', message: 'The run could not be brought forward, by a fault of ours' }

type Match = { workflow: PublishedWorkflow; priority: number }

/**
 * What one mailbox makes of its mail, in order. Pure: it gathers what is to be saved and done, and each item sees what
 * those before it came to.
 */
export class MailboxProcessor {
  readonly runs: ActiveRuns
  readonly evaluated: EvaluatedEvent[] = []
  readonly #input: MailboxInput
  readonly #messages: Map<string, MessageFacts>

  constructor({ messages, ...input }: MailboxInput & { messages: Map<string, MessageFacts> }) {
    this.runs = new ActiveRuns(input)
    this.#input = input
    this.#messages = messages
  }

  /** Items to put back: nobody may go on with them before a later time. */
  get postponed(): { item: MailboxItem; dueAt: Date }[] {
    return this.runs.postponed
  }

  handle(item: MailboxItem): void {
    const { runId, epoch, ...payload } = item.payload
    switch (item.kind) {
      case 'message':
        return this.#takeMessage(item)
      case 'event':
        return this.#takeEvent(this.#eventOf(payload), item)
      case 'start':
        return this.runs.begin(runId)
      case 'cancel':
        return this.runs.tell(runId, { type: 'canceled' })
      case 'fail':
        return this.runs.tell(runId, { type: 'failed', error: FAULT })
    }
    const run = this.runs.find(runId)
    if (!run) return
    if (item.kind === 'timer') return this.runs.ring(run, Number(epoch))
    if (this.runs.isHeldRun(run)) return this.runs.postpone(item)
    switch (item.kind) {
      case 'signal':
        return this.runs.tell(runId, { type: 'event', event: String(payload['event']), data: payload['data'] })
      case 'result': {
        const result = payload['result'] as ExternalResult
        return this.runs.tell(runId, { type: 'external_result', epoch: Number(epoch), result })
      }
    }
  }

  /**
   * A command, which is a trigger with a priority, goes before whoever waits. Then a run that has not begun because
   * the customer may still be writing takes the message in; then the newest run that waits for a reply and takes this
   * one has it; and only what no run takes starts new ones.
   */
  #takeMessage(item: MailboxItem): void {
    const message = this.#messages.get(String(item.payload['messageId']))
    const { channelId } = this.#input.party
    if (!message || channelId === null) return
    this.runs.ringOverdue()
    const isFirst = item.payload['isFirst'] === true
    const event: TriggerEvent = { type: 'message_received', message, channelId, isFirst }
    const matches = this.#match(event, item)
    const commands = matches.filter(({ priority }) => priority > 0)
    const others = matches.filter(({ priority }) => priority <= 0)
    if (this.#startAll(commands, event, item)) return this.#note(event, item, evaluate(others, 'preempted_by_priority'))
    if (this.#isTaken(message)) return this.#note(event, item, evaluate(others, 'consumed_as_reply'))
    this.#startAll(others, event, item)
  }

  #isTaken(message: MessageFacts): boolean {
    if (this.runs.collect(message)) return true
    const waiting = this.runs.waitingFor('reply').filter((run) => !this.runs.isHeldRun(run))
    return waiting.some((run) => this.runs.advance(run, { type: 'reply', message }))
  }

  /** A conversation is opened by what the customer writes, which comes along. */
  #eventOf(payload: JsonObject): TriggerEvent {
    const event = payload as TriggerEvent
    if (event.type !== 'conversation_opened') return event
    return { ...event, message: this.#messages.get(String(payload['messageId'])) ?? null }
  }

  /** Whoever waits for a custom event takes it, however many they are, and it may start runs besides. */
  #takeEvent(event: TriggerEvent, item: MailboxItem): void {
    this.runs.ringOverdue()
    if (event.type === 'event') for (const run of this.runs.waitingFor('event')) this.#tellOf(event, run)
    this.#startAll(this.#match(event, item), event, item)
  }

  #tellOf(event: TriggerEvent & { type: 'event' }, run: StoredRun): void {
    const { event: name, data } = event
    const signal = { runId: run.state.id, event: name, data }
    if (this.runs.isHeldRun(run)) this.runs.postponeNew('signal', signal)
    else this.runs.advance(run, event)
  }

  /** The workflows with a trigger for this event, the highest priority first; why others have none is noted. */
  #match(event: TriggerEvent, item: MailboxItem): Match[] {
    const { published, now } = this.#input
    const refused: Evaluation[] = []
    const matches = published.flatMap((workflow): Match[] => {
      const match = matchTrigger(workflow.compiled, event, this.runs.factsFor(workflow), now)
      if (!match) return []
      const outcome = 'outcome' in match ? match.outcome : this.#refusal(workflow, item)
      if (outcome === undefined && 'trigger' in match) return [{ workflow, priority: triggerPriority(match.trigger) }]
      if (outcome) refused.push(...evaluate([{ workflow }], outcome))
      return []
    })
    this.#note(event, item, refused)
    return matches.sort((a, b) => b.priority - a.priority)
  }

  #refusal(workflow: PublishedWorkflow, item: MailboxItem): Outcome | undefined {
    if (this.runs.isHeld(workflow.compiled)) return 'automation_paused'
    if (depthOf(item) > DEPTH_MAX) return 'max_depth_exceeded'
    return this.runs.chained.isFull(workflow.workflowId, depthOf(item)) ? 'cascade_rate_limited' : undefined
  }

  /** Starts a run of each workflow, as its re-entry policy allows. True if any was started. */
  #startAll(matches: Match[], event: TriggerEvent, item: MailboxItem): boolean {
    const cause = {
      trigger: triggerOf(event),
      eventId: item.id,
      message: ('message' in event && event.message) || null,
      depth: depthOf(item),
      debounces: event.type === 'message_received',
    }
    const refused = matches.filter(({ workflow }) => !this.runs.start(workflow, cause))
    this.#note(event, item, evaluate(refused, 'already_running'))
    return refused.length < matches.length
  }

  #note(event: TriggerEvent, item: MailboxItem, evaluations: Evaluation[]): void {
    if (evaluations.length === 0) return
    const before = this.evaluated.find(({ id }) => id === item.id)
    if (before) return void before.evaluations.push(...evaluations)
    const { contactId, conversationId } = this.#input.party
    const { type, messageId, event: custom, tag } = triggerOf(event)
    const name = String(custom ?? tag ?? '') || null
    this.evaluated.push({ id: item.id, contactId, conversationId, event: { type, messageId, name }, evaluations })
  }
}

function triggerOf(event: TriggerEvent): RunTrigger {
  const messageId = ('message' in event && event.message?.id) || null
  switch (event.type) {
    case 'event':
      return { type: event.type, messageId, event: event.event, data: event.data }
    case 'contact_updated':
      return { type: event.type, messageId, fields: event.fields }
    case 'tag_added':
    case 'tag_removed':
      return { type: event.type, messageId, tag: event.tag }
    case 'group_joined':
    case 'group_left':
      return { type: event.type, messageId, groupId: event.groupId }
    default:
      return { type: event.type, messageId }
  }
}

function depthOf({ payload }: MailboxItem): number {
  return typeof payload['depth'] === 'number' ? payload['depth'] : 0
}

function evaluate(matches: { workflow: PublishedWorkflow }[], outcome: Outcome): Evaluation[] {
  return matches.map(({ workflow: { workflowId, version } }) => ({ workflowId, version, outcome, detail: null }))
}
