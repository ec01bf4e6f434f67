import type { Registry } from '../model/registry.ts'
import type { MessageFacts } from '../model/run.ts'
import type { RunTrigger, StoredRun } from '../model/stored-run.ts'
import type { PublishedWorkflow, Subject, UnusableWorkflow } from '../model/subject.ts'
import type { CascadeCounts } from './cascade-limiter.ts'

/** Everything that decisions of a mailbox depend on. */
export type MailboxInput = {
  now: Date
  registry: Registry
  subject: Subject
  /** Unfinished runs, the newest first. */
  runs: StoredRun[]
  cascades: CascadeCounts
  published: PublishedWorkflow[]
  /** Published workflows that cannot be executed; none in a simulation. */
  unusable?: UnusableWorkflow[]
  /** Workflows by `workflowKey`: the published versions, and those of the runs, which may be unpublished by now. */
  versions: Map<string, PublishedWorkflow>
  newId: () => string
}

/** The cause of a new run. */
export type StartRequest = {
  trigger: RunTrigger
  eventId: string
  depth: number
  message?: MessageFacts | null
  input?: unknown
  parent?: { runId: string; epoch: number }
  parentRunId?: string
  /** True if the customer may still be writing. */
  debounces?: boolean
}

export function workflowKey({ workflowId, version }: { workflowId: string; version: number }): string {
  return `${workflowId}:${version}`
}
