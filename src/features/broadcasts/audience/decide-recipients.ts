import { setImmediate } from 'node:timers/promises'
import { withWorkBudget } from '../../../engine/language/work-budget.ts'
import { StepError } from '../../../engine/language/step-error.ts'
import { hasPlaceholder } from '../../../engine/language/template.ts'
import { resolveText } from '../../../engine/language/values.ts'
import type { SendableTemplate } from '../../../channels/templates/fill-template.ts'
import type { Broadcast as BroadcastRow } from '../../../models/broadcasts.ts'
import { UnprocessableError } from '../../../platform/errors.ts'
import { fillTemplate } from '../../templates/sendable-template.ts'
import { PARAMS_MAX } from './schema.ts'
import { findSkipReason, type SkipReason } from '../../broadcast-recipients/skip-reason.ts'
import type { Candidate } from './candidates.ts'

/** Work of the parameters of one recipient, about a millisecond. */
const PARAMS_WORK_MAX = 10_000

/** The longest time that decisions take at once: messages are answered by the same thread. */
const PAUSE_AFTER_MS = 5

export type Decision = {
  candidate: Candidate
  params: Record<string, string>
  skipReason: SkipReason | null
  /** The message as its recipient sees it; null if the parameters do not fit the template. */
  body: string | null
}

/** Decides for each contact whether it is sent the broadcast, and fills in its parameters. */
export async function decideRecipients(
  broadcast: Pick<BroadcastRow, 'params' | 'requiresOptIn'>,
  template: SendableTemplate,
  candidates: (Candidate & { ownParams?: Record<string, string> })[],
): Promise<Decision[]> {
  const rules = { category: template.category, requiresOptIn: broadcast.requiresOptIn }
  // One parameter more than a broadcast may have is one that no template has.
  const common = Object.entries(broadcast.params).slice(0, PARAMS_MAX + 1)
  const decisions: Decision[] = []
  const addresses = new Set<string>()
  let startedMs = performance.now()
  for (const { ownParams = {}, ...candidate } of candidates) {
    if (performance.now() - startedMs > PAUSE_AFTER_MS) {
      await setImmediate()
      startedMs = performance.now()
    }
    const reason = findSkipReason(candidate, rules, addresses)
    const filled = fillParams([...new Map([...common, ...Object.entries(ownParams)])], candidate)
    const body = filled && renderBody(template, filled)
    const skipReason = reason ?? (body === null ? 'invalid_params' : null)
    if (skipReason === null && candidate.address !== null) addresses.add(candidate.address)
    // Parameters that are not sent may be large.
    decisions.push({ candidate, params: (body !== null && filled) || {}, skipReason, body })
  }
  return decisions
}

/** Fills in the parameters. Returns null if that takes too much work. */
function fillParams(
  params: [name: string, text: string][],
  { facts, timezone }: Candidate,
): Record<string, string> | null {
  try {
    const source = { roots: facts, timezone }
    const fill = () => params.map(([name, text]) => [name, fillText(text, source)] as const)
    return Object.fromEntries(withWorkBudget(PARAMS_WORK_MAX, fill).result)
  } catch (error) {
    if (error instanceof StepError) return null
    throw error
  }
}

function fillText(text: string, source: Parameters<typeof resolveText>[1]): string {
  return hasPlaceholder(text) ? resolveText(text, source).trim() : text
}

function renderBody(template: SendableTemplate, params: Record<string, string>): string | null {
  try {
    return fillTemplate(template, params).body
  } catch (error) {
    if (error instanceof UnprocessableError) return null
    throw error
  }
}
