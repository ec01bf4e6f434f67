import { ITEM_WORK_MAX, withWorkBudget } from '../language/work-budget.ts'
import type { EvaluatedEvent, Evaluation, Outcome } from '../model/evaluation.ts'
import type { Registry } from '../model/registry.ts'
import type { MessageFacts } from '../model/run.ts'
import type { RunTrigger, StoredRun } from '../model/stored-run.ts'
import type { PublishedWorkflow } from '../model/subject.ts'
import type { Signal, TriggerEvent } from '../model/trigger.ts'
import { ActiveRuns } from './active-runs.ts'
import { DEPTH_MAX } from './cascade-limiter.ts'
import type { MailboxItem, NewItem } from './item.ts'
import type { MailboxInput } from './mailbox-input.ts'
import { matchTrigger } from './match-trigger.ts'

const INTERNAL_ERROR = { code: 'internal', message: 'The run failed because of an internal error.' }

type Match = { workflow: PublishedWorkflow; priority: number }

/** An event of a mailbox item, with the message that belongs to it. */
type Occurrence = { itemId: string; event: TriggerEvent; depth: number; debounces: boolean }

/**
 * Processes the items of one mailbox in order. Pure: it collects the changes to save and the effects to apply, and each
 * item sees the result of those before it.
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

  /** Items to put back until a later time. */
  get postponed(): NewItem[] {
    return this.runs.postponed
  }

  /** Returns the units of work that the item took. */
  handle(item: MailboxItem): number {
    return withWorkBudget(ITEM_WORK_MAX, () => this.#handle(item)).spent
  }

  #handle(item: MailboxItem): void {
    if (this.#input.subject.isBlocked) this.runs.cancelBlocked()
    switch (item.kind) {
      case 'message':
        return this.#handleMessage(item)
      case 'event':
        return this.#handleEvent(item)
      case 'start':
        return this.runs.startQueued(item.payload.runId)
      case 'cancel':
        return this.runs.dispatch(item.payload.runId, { type: 'canceled' })
      case 'fail':
        return this.runs.dispatch(item.payload.runId, { type: 'failed', error: INTERNAL_ERROR })
    }
    const run = this.runs.find(item.payload.runId)
    if (!run) return
    if (item.kind === 'timer') return this.runs.fireTimer(run, item.payload.epoch)
    if (this.runs.isPaused(run)) return this.runs.postpone(item)
    if (item.kind === 'signal') {
      const { event, data } = item.payload
      this.runs.advance(run, { type: 'event', event, data })
    } else {
      const { epoch, result } = item.payload
      this.runs.advance(run, { type: 'external_result', epoch, result })
    }
  }

  /**
   * Offers a message in this order: to triggers with a priority above 0; to runs that debounce; to the newest run that
   * waits for a reply and accepts it. Only a message that no run consumes starts new runs. A consent keyword is offered to
   * none of them.
   */
  #handleMessage({ id: itemId, payload: { messageId, event } }: MailboxItem & { kind: 'message' }): void {
    const message = this.#messages.get(messageId)
    if (!message) return
    this.runs.expireOverdue()
    const occurrence = { itemId, event: { ...event, message }, depth: 0, debounces: true }
    const matches = this.#match(occurrence)
    if (event.consentKeyword !== undefined) return
    const prioritized = matches.filter(({ priority }) => priority > 0)
    const others = matches.filter(({ priority }) => priority <= 0)
    if (this.#startAll(prioritized, occurrence)) this.#reject(occurrence, others, 'preempted_by_priority')
    else if (this.#isConsumed(message)) this.#reject(occurrence, others, 'consumed_as_reply')
    else this.#startAll(others, occurrence)
  }

  #isConsumed(message: MessageFacts): boolean {
    if (this.runs.appendMessage(message)) return true
    const waiting = this.runs.listWaiting('reply').filter((run) => !this.runs.isPaused(run))
    return waiting.some((run) => this.runs.advance(run, { type: 'reply', message }))
  }

  /** Every run that waits for the event's signal receives it, and the event may start runs besides. */
  #handleEvent({ id: itemId, payload }: MailboxItem & { kind: 'event' }): void {
    const { messageId, depth } = payload
    const event =
      messageId === null ? payload.event : { ...payload.event, message: this.#messages.get(messageId) ?? null }
    this.runs.expireOverdue()
    const signal = this.#input.registry.triggers.get(event.type)?.toSignal(event)
    if (signal) for (const run of this.runs.listWaiting('event')) this.#signal(run, signal)
    const occurrence = { itemId, event, depth, debounces: false }
    this.#startAll(this.#match(occurrence), occurrence)
  }

  #signal(run: StoredRun, signal: Signal): void {
    if (this.runs.isPaused(run)) this.runs.postponeNew({ kind: 'signal', payload: { runId: run.state.id, ...signal } })
    else this.runs.advance(run, { type: 'event', ...signal })
  }

  /** Lists the workflows with a trigger for the event, the highest priority first, and records why others do not start. */
  #match(occurrence: Occurrence): Match[] {
    const { published, unusable = [], now, registry } = this.#input
    const { event } = occurrence
    for (const { problem, triggerTypes, ...workflow } of unusable) {
      const mayMatch = triggerTypes === null || triggerTypes.includes(event.type)
      if (mayMatch) this.#reject(occurrence, [{ workflow }], 'workflow_unusable', problem)
    }
    const matches = published.flatMap((workflow): Match[] => {
      const { compiled } = workflow
      const preemption = this.#findPreemption(event)
      if (preemption) {
        if (compiled.triggers.some(({ type }) => type === event.type))
          this.#reject(occurrence, [{ workflow }], preemption, event.consentKeyword ?? null)
        return []
      }
      const match = matchTrigger({ compiled, event, facts: this.runs.factsFor(workflow), now, registry })
      if (!match) return []
      const outcome = 'outcome' in match ? match.outcome : this.#findObstacle(workflow, occurrence)
      if (outcome) this.#reject(occurrence, [{ workflow }], outcome)
      return outcome || 'outcome' in match ? [] : [{ workflow, priority: match.priority }]
    })
    return matches.sort((a, b) => b.priority - a.priority)
  }

  /** Returns the reason why the event starts no workflow at all. */
  #findPreemption({ consentKeyword }: TriggerEvent): Outcome | undefined {
    if (this.#input.subject.isBlocked) return 'contact_blocked'
    return consentKeyword === undefined ? undefined : 'consent_keyword'
  }

  #findObstacle(workflow: PublishedWorkflow, { depth }: Occurrence): Outcome | undefined {
    if (this.runs.isPausedFor(workflow)) return 'automation_paused'
    if (depth > DEPTH_MAX) return 'max_depth_exceeded'
    return this.runs.cascades.isExceeded(workflow.workflowId, depth) ? 'cascade_rate_limited' : undefined
  }

  /** Starts a run of each workflow, as its re-entry policy allows. Returns true if any was started. */
  #startAll(matches: Match[], occurrence: Occurrence): boolean {
    const { itemId, event, depth, debounces } = occurrence
    const trigger = toRunTrigger(event, this.#input.registry)
    const request = { trigger, eventId: itemId, message: event.message ?? null, depth, debounces }
    const rejected = matches.filter(({ workflow }) => !this.runs.start(workflow, request))
    this.#reject(occurrence, rejected, 'already_running')
    return rejected.length < matches.length
  }

  #reject(
    { itemId, event }: Occurrence,
    workflows: { workflow: Pick<PublishedWorkflow, 'workflowId' | 'version'> }[],
    outcome: Outcome,
    detail: string | null = null,
  ): void {
    if (workflows.length === 0) return
    const evaluations = workflows.map(({ workflow: { workflowId, version } }): Evaluation => {
      return { workflowId, version, outcome, detail }
    })
    const existing = this.evaluated.find(({ id }) => id === itemId)
    if (existing) return void existing.evaluations.push(...evaluations)
    const { contactId, conversationId } = this.#input.subject
    const { type } = event
    const name = this.#input.registry.triggers.get(type)?.eventName(event) || null
    const messageId = event.message?.id ?? null
    this.evaluated.push({ id: itemId, contactId, conversationId, event: { type, messageId, name }, evaluations })
  }
}

function toRunTrigger(event: TriggerEvent, { triggers }: Registry): RunTrigger {
  const recorded = triggers.get(event.type)?.recorded.map((name) => [name, event[name]]) ?? []
  return { type: event.type, messageId: event.message?.id ?? null, ...Object.fromEntries(recorded) }
}
