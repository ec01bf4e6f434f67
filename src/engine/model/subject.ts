import type { Mailbox } from './mailbox-key.ts'
import type { CompiledDefinition } from './compiled.ts'
import type { JsonObject } from './run.ts'

/** A workflow that may start runs, at the version that new runs take. */
export type PublishedWorkflow = { workflowId: string; name: string; version: number; compiled: CompiledDefinition }

/** Whom a mailbox is about, and what its runs may know. */
export type Subject = {
  mailbox: Mailbox
  conversationId: string | null
  channelId: string | null
  contactId: string | null
  /** A person has taken over: workflows neither answer nor start. */
  isPaused: boolean
  /** By a reply, and so not for the workflows that go on beside a person's replies. */
  isPausedByReply: boolean
  contact: JsonObject | null
  conversation: JsonObject | null
  workspace: JsonObject
}
