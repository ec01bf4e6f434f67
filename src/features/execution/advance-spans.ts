import type { MailboxItem } from '../../engine/mailbox/item.ts'
import type { Advance, EnginePort } from '../../engine/mailbox/ports.ts'
import { runMailbox } from '../../engine/model/stored-run.ts'
import type { Attributes, FindSpan, Span } from '../../platform/tracing/span.ts'
import type { Tracing } from '../../platform/tracing/tracing.ts'
import type { Scope } from '../../scope/scope.ts'

/**
 * The spans of the mailboxes that a job advances, for items whose trace is sampled: one transaction at a time, from the
 * claim of the items to the commit. The first context of a mailbox counts. Due timers begin traces.
 */
export class AdvanceSpans {
  readonly #tracing: Tracing
  #spans = new Map<string, Span>()

  constructor(tracing: Tracing) {
    this.#tracing = tracing
  }

  readonly find: FindSpan = (mailboxId) => this.#spans.get(mailboxId)

  /** Records what the port does. */
  record(port: EnginePort<Scope>): EnginePort<Scope> {
    return {
      ...port,
      store: {
        ...port.store,
        takeItems: async (tx, claim) => {
          const startedAt = performance.now()
          // Those of a transaction that is repeated do not end.
          this.#spans = new Map()
          const items = await port.store.takeItems(tx, claim)
          for (const item of items) this.#begin(item, { tenantId: tx.tenantId, startedAt })
          return items
        },
      },
      apply: (tx, advance, saveSteps) => {
        if (this.#spans.size > 0) this.#addDecisions(advance)
        return port.apply(tx, advance, saveSteps)
      },
      transaction: async (tenantId, work, options) => {
        try {
          return await port.transaction(tenantId, work, options)
        } catch (error) {
          for (const span of this.#spans.values()) span.fail(error)
          throw error
        } finally {
          for (const span of this.#spans.values()) span.end()
        }
      },
      report: (error, about) => {
        const attributes = toAttributes(about.tenantId, about)
        const span = this.#spans.get(about.mailbox.id) ?? this.#tracing.child('mailbox.advance', attributes)
        span.fail(error)
        port.report(error, { ...about, traceId: span.traceId })
      },
    }
  }

  #begin(item: MailboxItem, { tenantId, startedAt }: { tenantId: string; startedAt: number }): void {
    const { mailbox, traceparent } = item
    if (this.#spans.has(mailbox.id)) return
    const attributes = toAttributes(tenantId, item)
    const span = traceparent
      ? this.#tracing.resume(traceparent, 'mailbox.advance', attributes, startedAt)
      : item.kind === 'timer'
        ? this.#tracing.begin('mailbox.advance', attributes, startedAt)
        : undefined
    if (span?.isSampled) this.#spans.set(mailbox.id, span)
  }

  /** Steps are decided in memory: their spans have the time at which their results are stored. */
  #addDecisions({ runs, steps }: Advance): void {
    const ofRuns = new Map<string, Span>()
    for (const run of runs.toReversed()) {
      const span = this.#spans.get(runMailbox(run).id)
      span?.set({
        'parley.run_id': run.state.id,
        'parley.workflow_id': run.workflowId,
        'parley.workflow_version': run.workflowVersion,
      })
      if (span) ofRuns.set(run.state.id, span)
    }
    const last = new Map(steps.map(({ runId, step }) => [`${runId} ${step.index}`, { runId, step }]))
    for (const { runId, step } of last.values()) {
      const attributes = {
        'parley.run_id': runId,
        'parley.step_id': step.stepId,
        'parley.step_status': step.status,
        'parley.step_attempt': step.attempt,
      }
      const span = ofRuns.get(runId)?.child(`step.${step.type}`, attributes)
      if (step.error) span?.fail(step.error.code)
      span?.end()
    }
  }
}

function toAttributes(tenantId: string, { mailbox }: Pick<MailboxItem, 'mailbox'>): Attributes {
  return { 'parley.tenant_id': tenantId, 'parley.mailbox_kind': mailbox.kind, 'parley.mailbox_id': mailbox.id }
}
