import { newId } from '../platform/ids.ts'
import { addMs, MINUTE } from '../platform/time.ts'
import type { CompiledDefinition } from './compiled.ts'
import { decide } from './decide.ts'
import type { Decision, EngineEvent, PlacedEffect } from './decision.ts'
import type { MailboxItem } from './mailbox.ts'
import { findTrigger, priorityOf, type TriggerEvent } from './match-trigger.ts'
import { isSettled, type JsonObject, type MessageFacts, queueRun, type StepRecord } from './run.ts'
import type { StoredRun } from './run-store.ts'
import type { Facts, StepRegistry } from './step.ts'

/** A workflow that may start runs, at the version that new runs take. */
export type Published = { workflowId: string; name: string; version: number; compiled: CompiledDefinition }

/** Whom a conversation is with, and what its runs may know. */
export type Conversation = {
  conversationId: string
  channelId: string
  contactId: string
  /** A person has taken over: workflows neither answer nor start. */
  isPaused: boolean
  contact: JsonObject
  conversation: JsonObject
  workspace: JsonObject
}

const SNOOZE_MS = 15 * MINUTE

type Given = {
  now: Date
  registry: StepRegistry
  conversation: Conversation
  /** Not settled, the newest first. */
  runs: StoredRun[]
  published: Published[]
  versions: Map<string, CompiledDefinition>
  messages: Map<string, MessageFacts>
}

/**
 * What one conversation makes of its mail, in order. Pure: it gathers what is to be saved and done, and each item sees
 * what those before it came to.
 */
export class ConversationTurn {
  readonly changed = new Set<StoredRun>()
  readonly steps: { runId: string; step: StepRecord }[] = []
  readonly effects: { run: StoredRun; conversation: Conversation; placed: PlacedEffect[] }[] = []
  readonly #given: Given
  readonly #runs: StoredRun[]
  #facts: Omit<Facts, 'workflow'>
  #isPaused: boolean

  constructor(given: Given) {
    const { contact, conversation, workspace, isPaused } = given.conversation
    this.#given = given
    this.#runs = [...given.runs]
    this.#facts = { contact, conversation, workspace }
    this.#isPaused = isPaused
  }

  take(item: MailboxItem): void {
    const { runId, epoch, ...payload } = item.payload
    switch (item.kind) {
      case 'message':
        return this.#takeMessage(item)
      case 'timer':
        return this.#isPaused ? this.#snooze(runId) : this.#tell(runId, { type: 'timer', epoch: Number(epoch) })
      case 'start':
        return this.#tell(runId, { type: 'started' })
      case 'cancel':
        return this.#tell(runId, { type: 'canceled' })
      case 'event':
        this.#startMatching(payload as TriggerEvent, item)
    }
  }

  /**
   * A command, which is a trigger with a priority, goes before whoever waits. Else the newest run that waits for a reply
   * and takes this one has it, and only what no run takes starts new ones.
   */
  #takeMessage(item: MailboxItem): void {
    const message = this.#given.messages.get(String(item.payload['messageId']))
    if (!message || this.#isPaused) return
    const { channelId } = this.#given.conversation
    const event: TriggerEvent = {
      type: 'message_received',
      message,
      channelId,
      isFirst: item.payload['isFirst'] === true,
    }
    if (this.#startMatching(event, item, { commandsOnly: true })) return
    const waiting = this.#runs.filter((run) => run.state.waiting?.for === 'reply')
    if (waiting.some((run) => this.#advance(run, { type: 'reply', message }))) return
    this.#startMatching(event, item)
  }

  #tell(runId: unknown, event: EngineEvent): void {
    const run = this.#runs.find(({ state }) => state.id === runId)
    if (run) this.#advance(run, event)
  }

  /** While a person talks, a run that wanted to go on asks again later. */
  #snooze(runId: unknown): void {
    const run = this.#runs.find(({ state }) => state.id === runId)
    if (!run?.state.waiting) return
    run.wakeAt = addMs(this.#given.now, SNOOZE_MS).toISOString()
    this.changed.add(run)
  }

  /** False if the run has no use for the event. */
  #advance(run: StoredRun, event: EngineEvent): boolean {
    const { registry, now } = this.#given
    const definition = this.#definitionOf(run)
    const facts = { ...this.#facts, workflow: factsOf(definition) }
    const decision = decide({ compiled: definition.compiled, run: run.state, event, facts, now, registry })
    if (!decision.consumed) return false
    run.state = decision.run
    run.wakeAt = decision.wait?.wakeAt ?? null
    run.messagesSent += decision.effects.filter(({ effect }) => 'messageId' in effect).length
    const { contact, conversation, workspace } = decision.facts
    this.#facts = { contact, conversation: { ...conversation, ...newestOf(decision) }, workspace }
    this.#isPaused ||= decision.effects.some(({ effect }) => effect.type === 'handoff')
    this.changed.add(run)
    this.steps.push(...decision.steps.map((step) => ({ runId: run.state.id, step })))
    if (decision.effects.length > 0)
      this.effects.push({ run, conversation: this.#given.conversation, placed: decision.effects })
    return true
  }

  #definitionOf({ workflowId, workflowVersion: version }: StoredRun): Published {
    const { published, versions } = this.#given
    const compiled = versions.get(`${workflowId}:${version}`)
    if (!compiled) throw new Error(`version ${version} of workflow ${workflowId} was not loaded`)
    const name = published.find((workflow) => workflow.workflowId === workflowId)?.name ?? ''
    return { workflowId, name, version, compiled }
  }

  /** Starts a run of every workflow with a trigger for this event. True if any was started. */
  #startMatching(event: TriggerEvent, item: MailboxItem, { commandsOnly = false } = {}): boolean {
    if (this.#isPaused) return false
    const { published, now } = this.#given
    const matching = published
      .flatMap((workflow) => {
        const facts = { ...this.#facts, workflow: factsOf(workflow) }
        const trigger = findTrigger(workflow.compiled, event, facts, now)
        return trigger ? [{ workflow, priority: priorityOf(trigger) }] : []
      })
      .filter(({ priority }) => !commandsOnly || priority > 0)
      .sort((a, b) => b.priority - a.priority)
    const started = matching.filter(({ workflow }) => this.#start(workflow, event, item))
    return started.length > 0
  }

  #start(workflow: Published, event: TriggerEvent, item: MailboxItem): boolean {
    const { now, conversation, versions } = this.#given
    const others = this.#runs.filter((run) => run.workflowId === workflow.workflowId && !isSettled(run.state))
    const { reentry } = workflow.compiled.settings
    if (others.length > 0 && reentry === 'ignore') return false
    if (reentry === 'restart') for (const other of others) this.#advance(other, { type: 'canceled' })
    versions.set(`${workflow.workflowId}:${workflow.version}`, workflow.compiled)
    const id = newId()
    const message = 'message' in event ? event.message : null
    const trigger = { type: event.type, messageId: message?.id ?? null }
    const run: StoredRun = {
      workflowId: workflow.workflowId,
      workflowVersion: workflow.version,
      contactId: conversation.contactId,
      conversationId: conversation.conversationId,
      mode: 'live',
      trigger,
      triggerEventId: item.id,
      replayOf: null,
      rootRunId: id,
      replayFromStepId: null,
      startedBy: { type: 'trigger', id: null },
      messagesSent: 0,
      createdAt: now,
      state: queueRun(workflow.compiled, { id, trigger, message }, now),
      wakeAt: null,
      isNew: true,
    }
    this.#runs.unshift(run)
    return this.#advance(run, { type: 'started' })
  }
}

function factsOf({ workflowId, name, version }: Published): JsonObject {
  return { id: workflowId, name, version }
}

/** What the decision said last: whatever is said next has to come after it. */
function newestOf({ effects }: Decision): { lastMessageId?: unknown } {
  const newest = effects.findLast(({ effect }) => 'messageId' in effect)
  return newest ? { lastMessageId: newest.effect['messageId'] } : {}
}
