import { lockMailboxes } from '../automation/store/mailbox-store.ts'
import type { StepFailure } from '../../engine/model/step.ts'
import { StepError } from '../../engine/language/step-error.ts'
import type { Scope } from '../../scope/scope.ts'
import type { ModelReply, Usage } from '../ai-provider/request-completion.ts'
import type { ClaimedCall } from './call-queue.ts'
import { sanitizeResult } from './sanitize-result.ts'

/** A tool call of the model, with its output or error. */
export type ModelToolCall = { tool: string; input: unknown } & ({ output: unknown } | { error: StepFailure })

/** An entry of the conversation with a model within one step. */
export type TranscriptEntry =
  { type: 'model_reply'; reply: ModelReply; usage: Usage } | ({ type: 'tool_call'; callId: string } & ModelToolCall)

/**
 * Stores the replies and tool calls of a model, so that executing the step again, after a crash or as its next attempt,
 * continues from there. Only the last claimer of the call can append, and only to the version it has loaded.
 */
export class AiTranscript {
  readonly entries: TranscriptEntry[]
  readonly #call: ClaimedCall
  #version: number

  private constructor(call: ClaimedCall, entries: TranscriptEntry[], version: number) {
    this.#call = call
    this.entries = entries
    this.#version = version
  }

  static async load(scope: Scope, call: ClaimedCall): Promise<AiTranscript> {
    const [stored] = await scope.sql<{ entries: TranscriptEntry[]; version: number }>('loadTranscript')`
      select entries, version from ai_transcripts
      where tenant_id = ${scope.tenantId} and run_id = ${call.runId} and step_index = ${call.stepIndex}`
    return new AiTranscript(call, stored?.entries ?? [], stored?.version ?? 0)
  }

  /** Executes an action on our own tables and appends its result, in one transaction. */
  async append(scope: Scope, execute: (tx: Scope) => Promise<TranscriptEntry>): Promise<void> {
    const entry = await scope.transaction(async (tx) => {
      await this.#lock(tx)
      const result = sanitizeEntry(await execute(tx))
      await this.#insert(tx, result)
      return result
    })
    this.entries.push(entry)
    this.#version += 1
  }

  /** Deletes the transcript of a completed step, whose output has what is kept. */
  async delete(tx: Scope): Promise<void> {
    const { runId, stepIndex } = this.#call
    await tx.sql('deleteTranscript')`
      delete from ai_transcripts where tenant_id = ${tx.tenantId} and run_id = ${runId} and step_index = ${stepIndex}`
  }

  /** Takes the locks in the order of advancing a run: the mailbox, then the call. */
  async #lock(tx: Scope): Promise<void> {
    const { runId, stepIndex, attempt, claimCount, mailbox } = this.#call
    await lockMailboxes(tx, [mailbox])
    const calls = await tx.sql('lockCall')`
      select from external_calls where tenant_id = ${tx.tenantId} and run_id = ${runId} and step_index = ${stepIndex}
        and attempt = ${attempt} and claim_count = ${claimCount} for update`
    if (calls.length === 0) throw supersededError()
  }

  async #insert(tx: Scope, entry: TranscriptEntry): Promise<void> {
    const { runId, stepIndex } = this.#call
    const now = tx.now()
    const appended = await tx.sql('appendEntry')`
    insert into ai_transcripts as t (tenant_id, run_id, step_index, version, entries, created_at, updated_at)
      values (${tx.tenantId}, ${runId}, ${stepIndex}, 1, ${JSON.stringify([entry])}::jsonb, ${now}, ${now})
      on conflict (tenant_id, run_id, step_index) do update
        set version = t.version + 1, entries = t.entries || excluded.entries, updated_at = excluded.updated_at
        where t.version = ${this.#version}
      returning t.version`
    if (appended.length !== 1) throw supersededError()
  }
}

/** @throws StepError */
function sanitizeEntry(entry: TranscriptEntry): TranscriptEntry {
  const result = sanitizeResult<TranscriptEntry>({ ok: true, output: entry })
  if (result.ok) return result.output
  throw new StepError(result.error.code, result.error.message, { retryable: false })
}

function supersededError(): StepError {
  return new StepError('superseded', 'The step was canceled, or claimed by another worker')
}
