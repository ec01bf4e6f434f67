import { createHmac, timingSafeEqual } from 'node:crypto'
import { hasStatus } from '../../error-codes/index.ts'
import type { WebhookTrigger } from '../../triggers/webhook.ts'
import { StepError } from '../../engine/language/step-error.ts'
import { resolveText, type Source } from '../../engine/language/values.ts'
import { STEP_WORK_MAX, withWorkBudget } from '../../engine/language/work-budget.ts'
import { deriveId } from '../../engine/model/derive-id.ts'
import { LimitExceededError, UnauthorizedError, UnprocessableError, InvalidError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import { parseJsonBytes } from '../../platform/parse-json.ts'
import type { RateLimits } from '../../platform/rate-limit/rate-limits.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { contactBlockedError } from '../contacts/errors.ts'
import { alreadyRunningError, type StartResult, startRuns } from '../runs/start-runs.ts'
import { type CallableWebhook, findCallableWebhook, getWebhookTrigger, notPublishedError } from './queries.ts'
import { toE164, toPhoneKey } from '../../platform/phone.ts'
import { findByPhone, findOrCreateContacts } from '../contacts/find-or-create-contacts.ts'
import { assertBounded, assertBoundedText } from '../../platform/bounded-json.ts'
import { json } from '../../trpc/schemas.ts'
import { MINUTE, SECOND } from '../../platform/time.ts'
import type { Span } from '../../platform/tracing/span.ts'
import { equalsTimingSafe } from '../../platform/security/tokens.ts'

const SIGNATURE = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/
const BEARER = /^Bearer ([A-Za-z0-9_-]{1,100})$/i

/** Largest clock difference to the sender, and so the time in which an intercepted call can be replayed. */
const WINDOW_MS = 5 * MINUTE

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
  call.setWorkspace(webhook.tenantId)
  await chargeWorkspace(limits, webhook.tenantId)
  const scope = system.forTenant(webhook.tenantId, undefined, { span: call.span })
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
    if (!(error instanceof StepError && hasStatus(error.code, 422))) throw error
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
      throw alreadyRunningError()
    default:
      throw notPublishedError()
  }
}

/**
 * Finds the contact with a phone number, in any spelling, or creates it if `createIfMissing` is set. Concurrent calls with
 * the same unknown number create one contact.
 * @throws UnprocessableError `invalid_phone`, `unknown_phone`
 */
async function findOrCreateContact(
  scope: Scope,
  { text, createIfMissing }: { text: string; createIfMissing: boolean },
): Promise<string> {
  const phone = toE164(text)
  if (!phone) {
    throw new UnprocessableError(
      'invalid_phone',
      `contact.phone is ${JSON.stringify(text.slice(0, 40))}, which is not a phone number such as +14155550100`,
    )
  }
  const existing = (await findByPhone(scope, [{ phone }])).get(toPhoneKey(phone))
  if (existing) return existing
  if (!createIfMissing) {
    throw new UnprocessableError(
      'unknown_phone',
      `No contact has the number ${phone}. Create it first, or set createIfMissing in the webhook trigger`,
    )
  }
  return scope.transaction(async (tx) => {
    const [contact] = await findOrCreateContacts(tx, [{ phone }])
    return contact?.contactId ?? ''
  })
}

/**
 * Parses any JSON that can be stored, within the bounds of the bodies of the API. An empty body is null.
 * @throws InvalidError
 */
function parseInput(body: Buffer): unknown {
  if (body.length === 0) return null
  assertBoundedText(body)
  const input = parse(body)
  assertBounded(input)
  const result = json.safeParse({ input })
  if (!result.success) throw new InvalidError(`The body ${result.error.issues[0]?.message ?? 'cannot be stored'}`)
  return input
}

function parse(body: Buffer): unknown {
  try {
    return parseJsonBytes(body)
  } catch (cause) {
    throw new InvalidError('The body is not valid JSON', undefined, 'invalid_json', { cause })
  }
}

type WebhookCall = {
  header: (name: string) => string
  body: Buffer
  /** Names the workspace of a call, for its lines in the log. */
  setWorkspace: (tenantId: string) => void
  span: Span | undefined
}

/**
 * Checks the signature over the timestamp and the raw body, or the bearer secret of senders that cannot sign. A signature
 * takes precedence: if it is present, the bearer secret is ignored.
 */
function verifyCall({ header, body }: Pick<WebhookCall, 'header' | 'body'>, secret: string, now: Date): boolean {
  const signature = header('x-parley-signature')
  if (signature) return isSigned(signature, { body, secret, now })
  const [, token] = BEARER.exec(header('authorization')) ?? []
  return token !== undefined && equalsTimingSafe(token, secret)
}

function isSigned(signature: string, { body, secret, now }: { body: Buffer; secret: string; now: Date }): boolean {
  const [, seconds, hex] = SIGNATURE.exec(signature) ?? []
  if (!seconds || !hex) return false
  const expected = createHmac('sha256', secret).update(`${seconds}.`).update(body).digest()
  const isValid = timingSafeEqual(Buffer.from(hex, 'hex'), expected)
  return isValid && Math.abs(now.getTime() - Number(seconds) * SECOND) <= WINDOW_MS
}
