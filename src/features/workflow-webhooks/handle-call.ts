import type { WebhookTrigger } from '../../triggers/webhook.ts'
import { deriveId } from '../../engine/model/derive-id.ts'
import { StepError } from '../../engine/language/step-error.ts'
import { resolveText, type Source } from '../../engine/language/values.ts'
import { ConflictError, UnauthorizedError, UnprocessableError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope, SystemScope } from '../../scope.ts'
import { type Started, startRuns } from '../runs/start-runs.ts'
import { findOrCreateContact } from './find-contact.ts'
import { type WorkflowWebhookMatch, findWebhookByToken, findWebhook } from './find-webhook.ts'
import { type WebhookCall, verifyCall } from './verify-call.ts'
import { parseInput } from './parse-input.ts'

type Answer = { status: 200 | 202; body: { runId: string | null; duplicate?: true } }

/**
 * Starts the hook's workflow with what came. An address that is not there, and a secret that is wrong, are the same to
 * the caller.
 */
export async function handleWebhookCall(
  system: SystemScope,
  { hookId, ...call }: WebhookCall & { hookId: string },
): Promise<Answer> {
  const hook = await findWebhookByToken(system, hookId)
  if (!hook || !verifyCall(call, hook.secret, system.now())) throw new UnauthorizedError()
  const scope = system.forTenant(hook.tenantId)
  const { trigger, timezone } = await findWebhook(scope, hook.workflowId)
  const input = parseInput(call.body)
  const receivedAt = scope.now().toISOString()
  const told = { type: 'webhook' as const, receivedAt }
  const source = { roots: { input, trigger: told, now: receivedAt }, timezone }
  const eventId = eventIdOf(hook, trigger, source)
  const contactId = await contactOf(scope, trigger, source)
  const [started] = await scope.transaction((tx) =>
    startRuns(tx, [
      {
        workflowId: hook.workflowId,
        trigger: told,
        input,
        contactId,
        startedBy: { type: 'trigger', id: null },
        eventId,
      },
    ]),
  )
  return answerOf(started)
}

/** The same for every call for which the key comes to the same, whenever it comes; without a key each call is its own. */
function eventIdOf(hook: WorkflowWebhookMatch, { dedupeKey }: WebhookTrigger, source: Source): string {
  if (dedupeKey === undefined) return newId()
  const key = fillIn('dedupeKey', dedupeKey, source)
  if (key === '') {
    throw new UnprocessableError('dedupe_key_missing', `The call has nothing for the dedupeKey ${dedupeKey}`)
  }
  return deriveId(`webhook\n${hook.workflowId}\n${key}`, 0, hook.createdAt.getTime())
}

async function contactOf(scope: Scope, { contact }: WebhookTrigger, source: Source): Promise<string | null> {
  if (!contact) return null
  const { phone, createIfMissing } = contact
  return findOrCreateContact(scope, { given: fillIn('contact.phone', phone, source), createIfMissing })
}

function fillIn(field: string, template: string, source: Source): string {
  try {
    return resolveText(template, source).trim()
  } catch (error) {
    if (!(error instanceof StepError)) throw error
    throw new UnprocessableError(error.code, `${field}: ${error.message}`, undefined, { cause: error })
  }
}

function answerOf(started: Started | undefined): Answer {
  if (started && 'runId' in started) return { status: 202, body: { runId: started.runId } }
  switch (started?.refused) {
    case 'duplicate':
      return { status: 200, body: { runId: null, duplicate: true } }
    case 'already_running':
      throw new ConflictError('already_running', 'The workflow is already running for this contact')
    default:
      throw new ConflictError('workflow_not_published', 'The workflow is not published with a webhook trigger')
  }
}
