import { Channel, Template as TemplateRow } from '../../models/messaging.ts'
import { definedFields } from '../../platform/defined-fields.ts'
import { ConflictError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import { withUniqueName } from './create-template.ts'
import { getTemplate } from './queries.ts'
import type { Template, UpdateTemplate } from './schema.ts'
import { isSubmitting } from './submit-template.ts'
import { contentColumns, toComponents } from './template-columns.ts'

/**
 * Changes a draft or a rejected template, which becomes a draft again; those of the sandbox stay approved.
 * @throws ConflictError `template_not_editable`, `template_exists`, `template_submission_in_progress`
 */
export function updateTemplate(scope: Scope, input: UpdateTemplate): Promise<Template> {
  const { templateId, name, language, category, body, components } = input
  return withUniqueName(() =>
    scope.transaction(async (tx) => {
      const template = await tx.lock(TemplateRow, templateId)
      const { kind } = await tx.get(Channel, template.channelId)
      assertEditable(template, kind, tx.now())
      if (template.providerTemplateId !== null && (name ?? template.name) !== template.name) throw isKnownError('name')
      if (template.providerTemplateId !== null && (language ?? template.language) !== template.language) {
        throw isKnownError('language')
      }
      const content = body ?? components
      await tx
        .query(TemplateRow)
        .findOne('id', templateId)
        .patch({
          ...definedFields({ name, language, category }),
          ...(content === undefined ? {} : contentColumns(toComponents(input))),
          status: kind === 'sandbox' ? 'approved' : 'draft',
          submittedAt: null,
          updatedAt: tx.now(),
        })
      await tx.record({ type: 'template.updated', data: { templateId } })
      return getTemplate(tx, { templateId })
    }),
  )
}

function assertEditable(template: TemplateRow, kind: Channel['kind'], now: Date): void {
  if (isSubmitting(template, now)) {
    throw new ConflictError('template_submission_in_progress', 'The template is being submitted. Try again in a minute')
  }
  if (kind === 'sandbox' || template.status === 'draft' || template.status === 'rejected') return
  throw new ConflictError(
    'template_not_editable',
    `The template is ${template.status}, and only drafts and rejected templates can be changed. Create a template of another name`,
  )
}

function isKnownError(field: 'name' | 'language'): ConflictError {
  return new ConflictError(
    'template_not_editable',
    `The provider knows the template by its name and language, so its ${field} cannot be changed. Create a new template`,
  )
}
