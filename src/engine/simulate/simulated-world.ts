import type { Effect } from '../model/effect.ts'
import type { JsonObject } from '../model/run.ts'
import type { ExternalResult } from '../model/step.ts'
import type { Subject } from '../model/subject.ts'
import type { TriggerEvent } from '../model/trigger.ts'

/** An external call of a step. */
export type ExternalRequest = {
  trigger: JsonObject
  stepId: string
  iteration: number
  attempt: number
  request: unknown
}

/** A consent keyword with the subject after it, and the text that confirms the change; null if nothing changed. */
export type HandledKeyword = { consentKeyword: string; subject: Subject; confirmation: string | null }

/** The surroundings of a simulation: they replace everything that a live mailbox reads and causes outside. */
export interface SimulatedWorld {
  /** Returns the event of a message of the customer. `isFirst`: the first one since the conversation was opened. */
  toMessageEvent(subject: Subject, isFirst: boolean): TriggerEvent
  /** Returns the subject after the customer wrote a message. */
  afterMessage(subject: Subject, now: Date): Subject
  /** Handles a message that workflows do not react to, before them; undefined for any other message. */
  handleKeyword?(subject: Subject, body: string | null): HandledKeyword | undefined
  /** Returns the subject with the facts that depend on the time. */
  subjectAt(subject: Subject, now: Date): Subject
  /** Returns the result of an external call; undefined if none is known, and a placeholder replaces it. */
  callExternal(request: ExternalRequest): ExternalResult | undefined
  /** Lists the events that an effect emits. */
  listEvents(effect: Effect): TriggerEvent[]
}
