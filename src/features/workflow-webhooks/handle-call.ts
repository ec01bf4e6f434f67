import type { WebhookTrigger } from '../../triggers/webhook.ts'
import { StepError } from '../../engine/language/step-error.ts'
import { resolveText, type Source } from '../../engine/language/values.ts'
import { STEP_WORK_MAX, withWorkBudget } from '../../engine/language/work-budget.ts'
import { deriveId } from '../../engine/model/derive-id.ts'
import { ConflictError, LimitExceededError, UnauthorizedError, UnprocessableError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import type { RateLimits } from '../../platform/rate-limit/rate-limits.ts'
import type { Scope, SystemScope } from '../../scope.ts'
import { contactBlockedError } from '../contacts/contact-blocked-error.ts'
import { type StartResult, startRuns } from '../runs/start-runs.ts'
import { findOrCreateContact } from './find-contact.ts'
import { parseInput } from './parse-input.ts'
import { type CallableWebhook, findCallableWebhook, getWebhookTrigger } from './queries.ts'
import { verifyCall, type WebhookCall } from './verify-call.ts'

type Response = { status: 200 | 202; body: { runId: string | null; duplicate?: true } }

/**
 * Starts the webhook's workflow. An unknown address and a wrong secret produce the same error, and count for no limit of
 * the workspace.
 * @throws LimitExceededError `rate_limited`
 */
export async function handleWebhookCall(
  { system, limits }: { system: SystemScope; limits: Pick<RateLimits, 'charge'> },
  { webhookId, ...call }: WebhookCall & { webhookId: string },
): Promise<Response> {
  const webhook = await findCallableWebhook(system, webhookId)
  if (!webhook || !verifyCall(call, webhook.secret, system.now())) throw new UnauthorizedError()
  await chargeWorkspace(limits, webhook.tenantId)
  const scope = system.forTenant(webhook.tenantId)
  const { trigger: definition, timezone } = await getWebhookTrigger(scope, webhook.workflowId)
  const input = parseInput(call.body)
  const receivedAt = scope.now().toISOString()
  const trigger = { type: 'webhook' as const, receivedAt }
  const source = { roots: { input, trigger, now: receivedAt }, timezone }
  const eventId = toEventId(webhook, definition, source)
  const contactId = await resolveContact(scope, definition, source)
  const [result] = await scope.transaction((tx) =>
    startRuns(tx, [
      { workflowId: webhook.workflowId, trigger, input, contactId, startedBy: { type: 'trigger', id: null }, eventId },
    ]),
  )
  return toResponse(result)
}

async function chargeWorkspace(limits: Pick<RateLimits, 'charge'>, tenantId: string): Promise<void> {
  const { allowed, state } = await limits.charge(tenantId, ['workflowWebhook'])
  if (allowed) return
  const message = `The workspace takes at most ${state.limit} calls of workflow webhooks a minute. Send this one again later`
  throw new LimitExceededError('rate_limited', message, state.resetSeconds)
}

/** Derives the event ID from the dedupe key, whenever the call arrives; without a key each call gets a new ID. */
function toEventId(webhook: CallableWebhook, { dedupeKey }: WebhookTrigger, source: Source): string {
  if (dedupeKey === undefined) return newId()
  const key = resolveField('dedupeKey', dedupeKey, source)
  if (key === '') {
    throw new UnprocessableError('dedupe_key_missing', `The body has no value for the dedupeKey ${dedupeKey}. Send one`)
  }
  return deriveId(`webhook\n${webhook.workflowId}\n${key}`, 0, webhook.createdAt.getTime())
}

async function resolveContact(scope: Scope, { contact }: WebhookTrigger, source: Source): Promise<string | null> {
  if (!contact) return null
  const { phone, createIfMissing } = contact
  return findOrCreateContact(scope, { text: resolveField('contact.phone', phone, source), createIfMissing })
}

function resolveField(field: string, template: string, source: Source): string {
  try {
    return withWorkBudget(STEP_WORK_MAX, () => resolveText(template, source).trim()).result
  } catch (error) {
    if (!(error instanceof StepError)) throw error
    throw new UnprocessableError(error.code, `${field}: ${error.message}`, undefined, { cause: error })
  }
}

function toResponse(result: StartResult | undefined): Response {
  if (result && 'runId' in result) return { status: 202, body: { runId: result.runId } }
  switch (result?.rejection) {
    case 'duplicate':
      return { status: 200, body: { runId: null, duplicate: true } }
    case 'contact_blocked':
      throw contactBlockedError('starts no runs')
    case 'already_running':
      throw new ConflictError('already_running', 'The workflow is already running for this contact')
    default:
      throw new ConflictError('workflow_not_published', 'The workflow is not published with a webhook trigger')
  }
}
