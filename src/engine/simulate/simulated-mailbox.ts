import type { StoredRun } from '../model/stored-run.ts'
import { countCascadesAmong } from '../mailbox/cascade-limiter.ts'
import type { CompiledDefinition } from '../model/compiled.ts'
import type { EffectRequest } from '../model/decision.ts'
import type { Outcome } from '../model/evaluation.ts'
import type { ItemKind, MailboxItem } from '../mailbox/mailbox.ts'
import { MailboxProcessor } from '../mailbox/processor.ts'
import { toStoredRun } from '../model/new-run.ts'
import type { Subject, PublishedWorkflow } from '../model/subject.ts'
import { isFinished, type JsonObject, type MessageFacts, type RunState, type StepRecord } from '../model/run.ts'
import type { StepRegistry } from '../model/step.ts'

export type SimulatedRunRecord = { stored: StoredRun; steps: Map<number, StepRecord> }

export type RunEffect = { run: SimulatedRunRecord; placed: EffectRequest }

export type Item = { kind: ItemKind; payload: JsonObject; message?: MessageFacts }

/** `isAwaited`: somebody waits for nothing else. */
export type Timer = { at: number; mail: Item; isAwaited: boolean }

type Parts = { registry: StepRegistry; party: Subject; published: PublishedWorkflow[]; newId: (now: Date) => string }

const NEVER = Number.POSITIVE_INFINITY

/** A mailbox that is kept in memory, and brought forward one item at a time, each at the time that it is parts. */
export class SimulatedMailbox {
  /** In the order in which they were started. */
  readonly runs: SimulatedRunRecord[] = []
  /** What became of events that started nothing, by workflow. */
  readonly refusals: { workflowId: string; outcome: Outcome }[] = []
  readonly #parts: Parts
  readonly #versions: Map<string, PublishedWorkflow>
  readonly #postponed: Timer[] = []
  #party: Subject
  /** When a person gives the conversation back. */
  #pausedUntil: number

  constructor(parts: Parts) {
    this.#parts = parts
    this.#party = parts.party
    this.#pausedUntil = parts.party.isPaused ? NEVER : 0
    this.#versions = new Map(parts.published.map((workflow) => [keyOf(workflow), workflow]))
  }

  /** Puts in a run that is queued from outside: it begins with an item that says so. */
  put(workflow: PublishedWorkflow, state: RunState): void {
    this.#versions.set(keyOf(workflow), workflow)
    const { contactId, conversationId } = this.#party
    const trigger = { messageId: null, ...state.trigger, type: String(state.trigger['type']) }
    const stored = toStoredRun(workflow, state, { trigger, eventId: state.id, contactId, conversationId })
    this.runs.push({ stored, steps: new Map() })
  }

  /** What comes by itself, and when: nothing while a person talks. */
  due(): Timer[] {
    const timers = this.runs.flatMap(({ stored: { wakeAt, state } }): Timer[] => {
      if (wakeAt === null) return []
      const mail: Item = { kind: 'timer', payload: { runId: state.id, epoch: state.epoch } }
      return [{ at: Date.parse(wakeAt), mail, isAwaited: state.debouncing !== null || state.waiting?.for === 'timer' }]
    })
    return [...timers, ...this.#postponed].map((due) => ({ ...due, at: Math.max(due.at, this.#pausedUntil) }))
  }

  /** The customer has written: so long from now free text may be sent. */
  openWindow(now: Date, until: Date): void {
    const told = { lastInboundAt: now.toISOString(), windowExpiresAt: until.toISOString() }
    this.#party = { ...this.#party, conversation: { ...this.#party.conversation, ...told } }
  }

  handle(mail: Item, now: Date): RunEffect[] {
    this.#forget(mail)
    const { kind, payload, message } = mail
    const { registry, published, newId } = this.#parts
    const party = this.#partyAt(now)
    const item: MailboxItem = { id: newId(now), mailbox: party.mailbox, kind, payload, attempts: 0 }
    const turn = new MailboxProcessor({
      now,
      registry,
      party,
      chained: countCascadesAmong(
        this.runs.map(({ stored }) => stored),
        now,
      ),
      published,
      runs: this.runs.flatMap(({ stored }) => (isFinished(stored.state) ? [] : [stored])).toReversed(),
      versions: this.#versions,
      messages: new Map(message ? [[message.id, message]] : []),
      newId: () => newId(now),
    })
    turn.handle(item)
    for (const { item: later, dueAt } of turn.postponed) {
      const again: Item = { kind: later.kind, payload: later.payload }
      this.#postponed.push({ at: dueAt.getTime(), mail: again, isAwaited: true })
    }
    return this.#learn(turn)
  }

  /** What comes by itself comes once. */
  #forget(mail: Item): void {
    const at = this.#postponed.findIndex((due) => due.mail === mail)
    if (at >= 0) this.#postponed.splice(at, 1)
    const run = mail.kind === 'timer' && this.runs.find(({ stored }) => stored.state.id === mail.payload['runId'])
    if (run) run.stored.wakeAt = null
  }

  #partyAt(now: Date): Subject {
    const { conversation } = this.#party
    const until = conversation?.['windowExpiresAt']
    const canSendFreeform =
      typeof until === 'string' ? now.getTime() < Date.parse(until) : conversation?.['canSendFreeform']
    const isPaused = this.#pausedUntil > now.getTime()
    return { ...this.#party, isPaused, conversation: conversation && { ...conversation, canSendFreeform } }
  }

  #learn({ runs, evaluated }: MailboxProcessor): RunEffect[] {
    for (const stored of runs.changed) if (!this.#find(stored)) this.runs.push({ stored, steps: new Map() })
    for (const { runId, step } of runs.steps) {
      this.runs.find(({ stored }) => stored.state.id === runId)?.steps.set(step.index, step)
    }
    for (const { evaluations } of evaluated) this.refusals.push(...evaluations)
    const { contact, conversation } = runs.factsFor(NO_WORKFLOW)
    this.#party = { ...this.#party, contact, conversation }
    const placed = runs.effects.flatMap((effect) => {
      const run = this.#find(effect.run)
      return run ? effect.placed.map((one) => ({ run, placed: one })) : []
    })
    for (const { placed: one } of placed) this.#notePause(one.effect)
    return placed
  }

  #notePause({ type, until }: EffectRequest['effect']): void {
    if (type === 'handoff') this.#pausedUntil = typeof until === 'string' ? Date.parse(until) : NEVER
    if (type === 'resume_automation') this.#pausedUntil = 0
  }

  #find(stored: StoredRun): SimulatedRunRecord | undefined {
    return this.runs.find((run) => run.stored === stored)
  }
}

const NO_WORKFLOW: PublishedWorkflow = {
  workflowId: '',
  name: '',
  version: 0,
  compiled: {} as CompiledDefinition,
}

function keyOf({ workflowId, version }: PublishedWorkflow): string {
  return `${workflowId}:${version}`
}
