import type { StoredRun, RunTrigger } from '../model/stored-run.ts'
import type { CascadeCounts } from './cascade-limiter.ts'
import type { Subject, PublishedWorkflow } from '../model/subject.ts'
import type { MessageFacts } from '../model/run.ts'
import type { StepRegistry } from '../model/step.ts'

/** What a mailbox is brought forward with: all that deciding may know. */
export type MailboxInput = {
  now: Date
  registry: StepRegistry
  party: Subject
  /** Not settled, the newest first. */
  runs: StoredRun[]
  chained: CascadeCounts
  published: PublishedWorkflow[]
  /** By `workflowId:version`: what is published, and what the runs are on, which need not be published any more. */
  versions: Map<string, PublishedWorkflow>
  newId: () => string
}

/** Why a run is started. */
export type StartRequest = {
  trigger: RunTrigger
  eventId: string
  depth: number
  message?: MessageFacts | null
  input?: unknown
  parent?: { runId: string; epoch: number }
  parentRunId?: string
  /** The customer may still be writing. */
  debounces?: boolean
}
