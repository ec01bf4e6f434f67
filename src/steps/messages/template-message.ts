import { z } from 'zod'
import { fillComponents, type SendableTemplate } from '../../channels/templates/fill-template.ts'
import { findHeaderFile, nameHeaderFile } from '../../channels/templates/header-file.ts'
import { HEADER_MEDIA } from '../../channels/templates/variables.ts'
import { templateText } from '../../engine/language/definition/names.ts'
import { StepError } from '../../engine/language/step-error.ts'
import type { JsonObject } from '../../engine/model/run.ts'
import type { StepContext, StepReport } from '../../engine/model/step.ts'
import { getField } from '../../platform/fields.ts'
import { requireConversation } from '../contacts/contact-facts.ts'
import type { WorkflowEffect } from '../effects.ts'
import { assertMaySend } from './assert-may-send.ts'
import { findSendable as findSendableFile } from './media.ts'

const PARAMS_MAX = 100
const PROBLEMS_MAX = 5

const choiceShape = {
  templateId: z.string().min(1, 'must not be empty').max(64).optional(),
  name: z
    .string()
    .regex(/^[a-z0-9_]{1,512}$/, 'must have 1 to 512 lower-case letters, digits and underscores')
    .optional(),
  language: z.string().min(1, 'must not be empty').max(20).optional(),
}
const CHOICE_SCHEMA = { oneOf: [{ required: ['templateId'] }, { required: ['name', 'language'] }] }
const CHOICE_RULE = 'must have either a templateId, or a name and a language'

type Choice = { templateId?: string | undefined; name?: string | undefined; language?: string | undefined }

function isChoice({ templateId, name, language }: Choice): boolean {
  return templateId === undefined
    ? name !== undefined && language !== undefined
    : name === undefined && language === undefined
}

const TemplateChoice = z.strictObject(choiceShape).refine(isChoice, CHOICE_RULE).meta(CHOICE_SCHEMA)
export type TemplateChoice = z.output<typeof TemplateChoice>

const params = z
  .record(z.string().min(1, 'must not be empty').max(80), templateText)
  .refine((values) => Object.keys(values).length <= PARAMS_MAX, `must have at most ${PARAMS_MAX} entries`)

/** The fields of a message made from a template. The values of the variables may have placeholders. */
export const templateFields = { template: TemplateChoice, params: params.default({}) }

export const TemplateMessage = z.strictObject(templateFields)
export type TemplateMessage = z.output<typeof TemplateMessage>

/** A template as the content of a message: the choice together with its parameters, as in the API. */
export const TemplatePart = z
  .strictObject({ ...choiceShape, params: params.default({}) })
  .refine(isChoice, CHOICE_RULE)
  .meta(CHOICE_SCHEMA)

/** Reads the fields of a message made from a template among others; undefined if there are none that are valid. */
export function readTemplateMessage(fields: unknown): TemplateMessage | undefined {
  const [template, values] = [getField(fields, 'template'), getField(fields, 'params')]
  return TemplateMessage.safeParse({ template, ...(values === undefined ? {} : { params: values }) }).data
}

/** Reads the template of a message; undefined if it has none that is valid. */
export function readTemplatePart(message: unknown): TemplateMessage | undefined {
  const part = TemplatePart.safeParse(getField(message, 'template')).data
  return part && toTemplateMessage(part)
}

export function toTemplateMessage({ params, ...template }: z.output<typeof TemplatePart>): TemplateMessage {
  return { template, params }
}

/** ID of the stored file in the header of a message; undefined if it has none. */
export function readHeaderMedia({ params }: Pick<TemplateMessage, 'params'>): string | undefined {
  return params[HEADER_MEDIA]
}

/** Paths of the template, which is known before the workflow runs, so it has no placeholders. */
export function templatePaths(prefix = ''): string[] {
  return ['templateId', 'name', 'language'].map((field) => `${prefix}template.${field}`)
}

/** The name under which the templates that a workflow refers to are among its resources. */
export const TEMPLATE_RESOURCES = 'templates'

/** A template that a step refers to, with its state when the step is executed. */
export type TemplateResource = {
  templateId: string
  channelId: string
  name: string
  language: string
  status: string
  /** Null if it has a part that cannot be sent. */
  template: SendableTemplate | null
}

export function matchesChoice(
  resource: Omit<TemplateResource, 'template'>,
  { templateId, name, language }: TemplateChoice,
): boolean {
  return templateId === undefined
    ? resource.name === name && resource.language === language
    : resource.templateId === templateId.toLowerCase()
}

/** Sends a message made from a template, which needs no open service window. */
export function sendTemplate(
  context: StepContext,
  message: TemplateMessage,
): StepReport & { messageId: string; input: JsonObject } {
  const template = findSendable(context, message.template)
  assertMaySend(context, template.category)
  const values = Object.fromEntries(Object.entries(message.params).map(([name, text]) => [name, context.text(text)]))
  const file = findHeaderFile(template, values)
  const named = file ? nameHeaderFile(template, values, findSendableFile(file, context)) : values
  const filled = fillComponents(template, named)
  if ('problems' in filled) {
    const problems = filled.problems.slice(0, PROBLEMS_MAX).map((one) => `"${one.name.slice(0, 64)}" ${one.message}`)
    throw new StepError(
      'template_params_invalid',
      `The parameters do not fit the template: ${problems.join(', ')}`,
      FINAL,
    )
  }
  const messageId = context.newId()
  const { body, content, category } = filled
  const effect: WorkflowEffect = {
    type: 'send_template',
    messageId,
    body,
    content,
    category,
    replies: template.replies,
  }
  const { id: templateId, name, language } = template
  return { input: { template: { templateId, name, language }, params: values }, effects: [effect], messageId }
}

const FINAL = { retryable: false }

function findSendable(context: StepContext, choice: TemplateChoice): SendableTemplate {
  const { channelId } = requireConversation(context)
  const resources = listTemplateResources(context.facts.resources).filter((resource) => matchesChoice(resource, choice))
  const resource = resources.find((one) => one.channelId === channelId)
  if (!resource) {
    throw resources.length > 0
      ? new StepError(
          'template_of_other_channel',
          'The template belongs to another channel than the conversation',
          FINAL,
        )
      : new StepError('unknown_template', 'The template does not exist any more. Choose another one', FINAL)
  }
  if (resource.status !== 'approved') {
    const message = `The template is ${resource.status}, and only an approved one can be sent`
    throw new StepError('template_not_approved', message)
  }
  if (resource.template) return resource.template
  throw new StepError('template_not_supported', 'The template has components that cannot be sent', FINAL)
}

/** Lists the templates among the resources of a workflow. */
export function listTemplateResources(resources: JsonObject = {}): TemplateResource[] {
  const templates = resources[TEMPLATE_RESOURCES]
  return isResourceList(templates) ? templates : []
}

function isResourceList(value: unknown): value is TemplateResource[] {
  return Array.isArray(value)
}
