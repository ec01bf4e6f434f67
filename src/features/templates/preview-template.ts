import { hasStatus } from '../../error-codes/index.ts'
import { withWorkBudget, STEP_WORK_MAX } from '../../engine/language/work-budget.ts'
import { StepError } from '../../engine/language/step-error.ts'
import { hasPlaceholder } from '../../engine/language/template.ts'
import { resolveText, type Source } from '../../engine/language/values.ts'
import { toSendableTemplate } from '../../channels/templates/fill-template.ts'
import { readTemplate, splitPlaceholders } from '../../channels/templates/variables.ts'
import { Template as TemplateRow } from '../../models/messaging.ts'
import { UnprocessableError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import { loadContactFacts } from '../contacts/contact-facts.ts'
import type { PreviewTemplate, TemplatePreview } from './schema.ts'
import { fillTemplate, notSupportedError } from './sendable-template.ts'

/**
 * Shows the message that a template makes of parameters, whatever the status of the template. Placeholders in them read
 * the contact, the workspace and the time, with the limits of a workflow's step.
 * @throws NotFoundError, UnprocessableError `template_params_invalid`, `placeholder_failed`
 */
export async function previewTemplate(scope: Scope, input: PreviewTemplate): Promise<TemplatePreview> {
  const row = await scope.get(TemplateRow, input.templateId)
  const { contact, workspace } = await loadContactFacts(scope, input.contactId ?? null)
  const { timezone } = workspace
  const params = resolveParams(input.params, {
    roots: { contact, workspace, now: scope.now().toISOString() },
    timezone: typeof timezone === 'string' ? timezone : 'UTC',
  })
  const [template, readable] = [toSendableTemplate(row), readTemplate(row.components)]
  if (!template || !readable) throw notSupportedError()
  const { body, content } = fillTemplate(template, params)
  const header = readable.header?.text
  return {
    header: header === undefined ? null : fillHeader(header, params),
    body,
    footer: findFooter(row.components),
    buttons: readable.buttons.map(({ type, text, url }, index) => ({
      type: type.toLowerCase(),
      text: text ?? null,
      value:
        url === undefined ? (params[`button.${index}`] ?? null) : url.replace('{{1}}', params[`button.${index}`] ?? ''),
    })),
    params,
    components: content.template.components,
  }
}

/** @throws UnprocessableError `placeholder_failed`, `budget_exceeded`, `value_too_large` */
function resolveParams(params: Record<string, string>, source: Source): Record<string, string> {
  const resolve = () =>
    Object.entries(params).map(([name, text]) => [name, hasPlaceholder(text) ? resolveText(text, source) : text])
  try {
    return Object.fromEntries(withWorkBudget(STEP_WORK_MAX, resolve).result)
  } catch (error) {
    if (!(error instanceof StepError && hasStatus(error.code, 422))) throw error
    throw new UnprocessableError(error.code, error.message, undefined, { cause: error })
  }
}

function fillHeader(text: string, params: Record<string, string>): string {
  return splitPlaceholders(text)
    .map((part, index) => (index % 2 === 0 ? part : (params[part] ?? params[`header.${part}`] ?? '')))
    .join('')
}

function findFooter(components: Record<string, unknown>[]): string | null {
  const text = components.find(({ type }) => type === 'FOOTER')?.['text']
  return typeof text === 'string' ? text : null
}
