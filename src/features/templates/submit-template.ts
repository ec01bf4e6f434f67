import type { TemplateProvider } from '../../channels/channel.ts'
import { Template as TemplateRow } from '../../models/messaging.ts'
import { ConflictError } from '../../platform/errors.ts'
import { addMs, MINUTE } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import { getTemplate } from './queries.ts'
import type { Template, TemplateRef } from './schema.ts'
import { loadTemplateProvider } from '../channels/load-channel.ts'

/** Time that a submission may take; it is longer than the deadline of the call. */
const SUBMISSION_MS = MINUTE

/** Returns true while a submission may be under way in some process. */
export function isSubmitting({ status, submittedAt }: TemplateRow, now: Date): boolean {
  return status === 'draft' && submittedAt !== null && now < addMs(submittedAt, SUBMISSION_MS)
}

/**
 * Submits a draft to the provider, which approves or rejects it later. The sandbox approves at once. If the process ends
 * between the call and its result, the template stays a draft, and synchronizing adopts the provider's state.
 * @throws ConflictError `template_not_draft`, `template_submission_in_progress`; BadGatewayError `provider_error`
 */
export async function submitTemplate(scope: Scope, { templateId }: TemplateRef): Promise<Template> {
  const { channelId } = await scope.get(TemplateRow, templateId)
  const provider = await loadTemplateProvider(scope, channelId)
  if (!provider) return approve(scope, templateId)
  const template = await claimSubmission(scope, templateId)
  try {
    await settleSubmission(scope, templateId, await callProvider(provider, template))
  } catch (error) {
    await releaseSubmission(scope, template)
    throw error
  }
  return getTemplate(scope, { templateId })
}

function approve(scope: Scope, templateId: string): Promise<Template> {
  return scope.transaction(async (tx) => {
    const { status } = await tx.lock(TemplateRow, templateId)
    if (status !== 'approved') {
      const now = tx.now()
      await tx
        .query(TemplateRow)
        .findOne('id', templateId)
        .patch({ status: 'approved', submittedAt: now, updatedAt: now })
      await tx.record({ type: 'template.status_changed', data: { templateId } })
    }
    return getTemplate(tx, { templateId })
  })
}

/**
 * Marks the submission as under way, so that a second one at the same time calls nobody. The provider may still refuse, so
 * that only the result is audited.
 */
function claimSubmission(scope: Scope, templateId: string): Promise<TemplateRow> {
  return scope.transaction(async (tx) => {
    const template = await tx.lock(TemplateRow, templateId)
    if (isSubmitting(template, tx.now())) {
      throw new ConflictError(
        'template_submission_in_progress',
        'The template is being submitted. Try again in a minute',
      )
    }
    if (template.status !== 'draft') {
      throw new ConflictError(
        'template_not_draft',
        `The template is ${template.status}, and only a draft can be submitted. Change a rejected template first`,
      )
    }
    tx.audit?.drop()
    const submittedAt = tx.now()
    await tx.query(TemplateRow).findOne('id', templateId).patch({ submittedAt })
    template.submittedAt = submittedAt
    return template
  })
}

type Submitted = Pick<Partial<TemplateRow>, 'category'> & Pick<TemplateRow, 'status'> & { providerTemplateId: string }

async function callProvider(provider: TemplateProvider, template: TemplateRow): Promise<Submitted> {
  if (template.providerTemplateId !== null) {
    await provider.replace(template.providerTemplateId, template)
    return { providerTemplateId: template.providerTemplateId, status: 'pending' }
  }
  const { providerTemplateId, status, category } = await provider.create(template)
  return { providerTemplateId, status: status ?? 'pending', category: category ?? template.category }
}

/** Stores the response of the provider. A webhook may have reported a later status before it. */
async function settleSubmission(scope: Scope, templateId: string, submitted: Submitted): Promise<void> {
  await scope.transaction(async (tx) => {
    const { status, category } = await tx.lock(TemplateRow, templateId)
    const { status: submittedStatus, ...columns } = submitted
    await tx
      .query(TemplateRow)
      .findOne('id', templateId)
      .patch({
        ...columns,
        ...(status === 'draft' ? { status: submittedStatus, rejectionReason: null } : {}),
        updatedAt: tx.now(),
      })
    await tx.record({ type: 'template.submitted', data: { templateId } })
    if (status === 'draft') await tx.record({ type: 'template.status_changed', data: { templateId } })
    if ((submitted.category ?? category) !== category) {
      await tx.record({ type: 'template.category_changed', data: { templateId } })
    }
  })
}

/** Allows the next attempt at once, unless another process has begun one. */
async function releaseSubmission(scope: Scope, { id, submittedAt }: TemplateRow): Promise<void> {
  await scope.query(TemplateRow).where({ id, submittedAt, status: 'draft' }).patch({ submittedAt: null })
}
