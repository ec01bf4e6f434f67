import type { CompiledDefinition } from './compiled.ts'
import type { Mailbox } from './mailbox-key.ts'
import type { JsonObject } from './run.ts'

/** A workflow that may start runs, at the version that new runs use. */
export type PublishedWorkflow = {
  workflowId: string
  name: string
  version: number
  compiled: CompiledDefinition
  /** Objects that its steps refer to, as they are now: plain JSON by kind. */
  resources?: JsonObject
}

/** A published workflow that cannot be executed. `triggerTypes` is null if its triggers cannot be read. */
export type UnusableWorkflow = { workflowId: string; version: number; problem: string; triggerTypes: string[] | null }

/** The contact and conversation of a mailbox, and the facts that its runs may read. */
export type Subject = {
  mailbox: Mailbox
  conversationId: string | null
  contactId: string | null
  /** A person has taken over: workflows neither answer nor start. */
  isPaused: boolean
  /** The pause began with a person's reply, and does not hold for workflows that run beside a person's replies. */
  isPausedByReply: boolean
  /** The contact is blocked: workflows neither start nor continue, and open runs are canceled. */
  isBlocked: boolean
  contact: JsonObject | null
  conversation: JsonObject | null
  workspace: JsonObject
}
