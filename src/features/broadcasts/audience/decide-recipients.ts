import { withWorkBudget } from '../../../engine/language/work-budget.ts'
import { StepError } from '../../../engine/language/step-error.ts'
import { hasPlaceholder } from '../../../engine/language/template.ts'
import { resolveText } from '../../../engine/language/values.ts'
import type { SendableTemplate } from '../../../channels/templates/fill-template.ts'
import type { Broadcast as BroadcastRow } from '../../../models/messaging/broadcast.ts'
import { UnprocessableError } from '../../../platform/errors.ts'
import { fillTemplate } from '../../templates/sendable-template.ts'
import { type Candidate, findSkipReason, type SkipReason } from './candidates.ts'

/** Work of the parameters of one recipient, about a millisecond. */
const PARAMS_WORK_MAX = 10_000

export type Decision = {
  candidate: Candidate
  params: Record<string, string>
  skipReason: SkipReason | null
  /** The message as its recipient sees it; null if the parameters do not fit the template. */
  body: string | null
}

/**
 * Decides for each contact whether it is sent the broadcast, and fills in its parameters. Two contacts with one address
 * are one person: the second is skipped. `addresses` are those of earlier contacts of the portion.
 */
export function decideRecipients(
  broadcast: Pick<BroadcastRow, 'params' | 'requiresOptIn'>,
  template: SendableTemplate,
  candidates: (Candidate & { ownParams?: Record<string, string> })[],
  addresses = new Set<string>(),
): Decision[] {
  const rules = { category: template.category, requiresOptIn: broadcast.requiresOptIn }
  return candidates.map(({ ownParams = {}, ...candidate }): Decision => {
    const reason = findSkipReason(candidate, rules)
    const isRepeated = candidate.address !== null && addresses.has(candidate.address)
    const filled = fillParams({ ...broadcast.params, ...ownParams }, candidate)
    const body = filled && renderBody(template, filled)
    const skipReason = reason ?? (isRepeated ? 'duplicate' : body === null ? 'invalid_params' : null)
    if (skipReason === null && candidate.address !== null) addresses.add(candidate.address)
    return { candidate, params: filled ?? {}, skipReason, body }
  })
}

function fillParams(params: Record<string, string>, { facts, timezone }: Candidate): Record<string, string> | null {
  try {
    const source = { roots: facts, timezone }
    const fill = () => Object.entries(params).map(([name, text]) => [name, fillText(text, source)] as const)
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
