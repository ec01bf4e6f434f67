import { lockMailboxes } from '../automation/store/mailbox-store.ts'
import type { StepFailure } from '../../engine/model/step.ts'
import { StepError } from '../../engine/language/step-error.ts'
import type { Scope } from '../../scope.ts'
import type { ModelReply, Usage } from '../ai-provider/ask-model.ts'
import type { ClaimedCall } from './claim-calls.ts'
import { sanitizeResult } from './sanitize-result.ts'

/** What a tool gave to the model, or how it failed. */
export type ModelToolCall = { tool: string; input: unknown } & ({ output: unknown } | { error: StepFailure })

/** What was said and done within one step, in order. */
export type Entry =
  { type: 'asked'; reply: ModelReply; usage: Usage } | ({ type: 'called'; callId: string } & ModelToolCall)

/**
 * Keeps what a model asked for and what came of it, so that doing the step again, after a crash or as its next attempt,
 * goes on from there. Only the last who claimed the effect can add to it, and only to what it has read.
 */
export class AiTranscript {
  readonly entries: Entry[]
  readonly #effect: ClaimedCall
  #version: number

  private constructor(effect: ClaimedCall, entries: Entry[], version: number) {
    this.#effect = effect
    this.entries = entries
    this.#version = version
  }

  static async load(scope: Scope, effect: ClaimedCall): Promise<AiTranscript> {
    const kept = await scope
      .db('ai_transcripts')
      .where({ tenant_id: scope.tenantId, run_id: effect.runId, step_index: effect.stepIndex })
      .first<{ entries: Entry[]; version: number } | undefined>('entries', 'version')
    return new AiTranscript(effect, kept?.entries ?? [], kept?.version ?? 0)
  }

  /** Does something to our own tables and writes down what came of it: both, or neither. */
  async add(scope: Scope, act: (tx: Scope) => Promise<Entry>): Promise<void> {
    const entry = await scope.transaction(async (tx) => {
      await this.#hold(tx)
      const made = checkStorable(await act(tx))
      await this.#append(tx, made)
      return made
    })
    this.entries.push(entry)
    this.#version += 1
  }

  /** What is told of a step that is done is in its output. */
  async forget(tx: Scope): Promise<void> {
    const { runId, stepIndex } = this.#effect
    await tx.db('ai_transcripts').where({ tenant_id: tx.tenantId, run_id: runId, step_index: stepIndex }).delete()
  }

  /** Locks in the order in which advancing a run does: the mailbox, then the effect. */
  async #hold(tx: Scope): Promise<void> {
    const { runId, stepIndex, attempt, claimCount, mailbox } = this.#effect
    await lockMailboxes(tx, [mailbox])
    const held = await tx
      .db('external_calls')
      .where({ tenant_id: tx.tenantId, run_id: runId, step_index: stepIndex, attempt, claim_count: claimCount })
      .forUpdate()
      .first('run_id')
    if (!held) throw superseded()
  }

  async #append(tx: Scope, entry: Entry): Promise<void> {
    const { runId, stepIndex } = this.#effect
    const { rowCount } = await tx.db.raw<{ rowCount: number }>(
      `insert into ai_transcripts as t (tenant_id, run_id, step_index, version, entries, created_at, updated_at)
       values (:tenantId, :runId, :stepIndex, 1, :entries::jsonb, :now, :now)
       on conflict (tenant_id, run_id, step_index) do update
         set version = t.version + 1, entries = t.entries || excluded.entries, updated_at = excluded.updated_at
         where t.version = :version`,
      {
        tenantId: tx.tenantId,
        runId,
        stepIndex,
        entries: JSON.stringify([entry]),
        now: tx.now(),
        version: this.#version,
      },
    )
    if (rowCount !== 1) throw superseded()
  }
}

/** @throws StepError */
function checkStorable(entry: Entry): Entry {
  const cleaned = sanitizeResult({ ok: true, output: entry })
  if (!cleaned.ok) throw new StepError(cleaned.error.code, cleaned.error.message, { retryable: false })
  // Only texts were changed.
  return cleaned.output as Entry
}

function superseded(): StepError {
  return new StepError('superseded', 'The step was given up, or taken over by another worker')
}
