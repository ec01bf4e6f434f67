import type { TemplateContent } from '../../message-content/content.ts'
import { isUuid } from '../../platform/ids.ts'
import {
  buttonKey,
  findParameterFormat,
  HEADER_FILENAME,
  HEADER_LINK,
  HEADER_MEDIA,
  headerTextKey,
  listPlaceholders,
  listVariables,
  LOCATION_FIELDS,
  readTemplate,
  splitPlaceholders,
  type TemplateVariable,
} from './variables.ts'

export type TemplateCategory = 'marketing' | 'utility' | 'authentication'

type StoredTemplate = { id: string; name: string; language: string; category: TemplateCategory; components: unknown }

/** A part of a text: literals at even positions, keys of parameters at odd ones. */
type Parts = readonly string[]

/** Parameter of a text: its key, and its name in the message if the template names its variables. */
type TextParameter = { key: string; name: string | null }

/**
 * A template that is ready to be filled in: plain JSON, and read once for all messages made from it.
 */
export type SendableTemplate = Omit<StoredTemplate, 'components'> & {
  channelId: string
  variables: TemplateVariable[]
  body: Parts
  bodyParameters: TextParameter[]
  /** Longest text of the body, parameters included. */
  bodyMax: number
  headerFormat: 'TEXT' | 'IMAGE' | 'VIDEO' | 'DOCUMENT' | 'LOCATION' | null
  headerParameters: TextParameter[]
  /** Types of the buttons in lower case. */
  buttons: string[]
  /** Titles of the quick replies. */
  replies: { id: string; title: string }[]
}

export type FilledTemplate = {
  body: string
  content: { template: TemplateContent }
  category: TemplateCategory
}

/** A parameter that does not fit the template. */
export type ParameterProblem = { name: string; message: string }

const HEADER_MAX = 60
const BODY_MAX = 1024
/** Limit of a body without other components. */
const BODY_ONLY_MAX = 32_768
const CODE_MAX = 15
const LINK_MAX = 2048

/** Prepares a template for filling; undefined if it has a part that cannot be sent. */
export function toSendableTemplate({
  components,
  ...template
}: StoredTemplate & { channelId: string }): SendableTemplate | undefined {
  const readable = readTemplate(components)
  if (!readable) return undefined
  const { header, body, buttons } = readable
  const isNamed = findParameterFormat(readable) === 'named'
  const toParameter = (name: string, key = name): TextParameter => ({ key, name: isNamed ? name : null })
  const headerNames = header?.format === 'TEXT' ? listPlaceholders(header.text ?? '') : []
  const bodyNames = listPlaceholders(body.text)
  const { id, channelId, name, language, category } = template
  return {
    id,
    channelId,
    name,
    language,
    category,
    variables: listVariables(readable),
    body: splitPlaceholders(body.text),
    bodyParameters: (isNamed ? bodyNames : bodyNames.toSorted((a, b) => Number(a) - Number(b))).map((one) =>
      toParameter(one),
    ),
    bodyMax: header || buttons.length > 0 ? BODY_MAX : BODY_ONLY_MAX,
    headerFormat: header?.format ?? null,
    headerParameters: headerNames.map((one) => toParameter(one, headerTextKey(one))),
    buttons: buttons.map(({ type }) => type.toLowerCase()),
    replies: buttons.flatMap(({ type, text = '' }, index) =>
      type === 'QUICK_REPLY' ? [{ id: buttonKey(index), title: text }] : [],
    ),
  }
}

/** Lists the names that are no variables of a template. */
export function findUnknownParams(variables: TemplateVariable[], names: string[]): ParameterProblem[] {
  const known = new Set(variables.map(({ name }) => name))
  return names.flatMap((name) => (known.has(name) ? [] : [{ name, message: 'is not a variable of the template' }]))
}

/** Fills in a template, or lists the parameters that are missing, unknown or not allowed by the provider. */
export function fillComponents(
  template: SendableTemplate,
  params: Readonly<Record<string, string>>,
): FilledTemplate | { problems: ParameterProblem[] } {
  const values = new Map<string, string>()
  const problems: ParameterProblem[] = []
  for (const { name, required } of template.variables) {
    // The provider rejects line breaks, tabs and more than four spaces in a row.
    const value = Object.hasOwn(params, name) ? (params[name] ?? '').replaceAll(/\s+/g, ' ').trim() : ''
    if (value !== '') values.set(name, value)
    else if (required && !(name === HEADER_LINK && params[HEADER_MEDIA]))
      problems.push({ name, message: Object.hasOwn(params, name) ? 'is empty' : 'is missing' })
  }
  problems.push(...findUnknownParams(template.variables, Object.keys(params)))
  const body = template.body.map((part, index) => (index % 2 === 0 ? part : (values.get(part) ?? ''))).join('')
  problems.push(...findValueProblems(template, values, body))
  if (problems.length > 0) return { problems }
  const { id, name, language, category } = template
  const components = [
    ...composeHeader(template, values),
    ...composeBody(template, values),
    ...composeButtons(template, values),
  ]
  return { body, content: { template: { id, name, language, components } }, category }
}

function findValueProblems(
  { bodyMax, headerFormat, headerParameters, buttons }: SendableTemplate,
  values: ReadonlyMap<string, string>,
  body: string,
): ParameterProblem[] {
  const problems: ParameterProblem[] = []
  if (body.length > bodyMax) {
    problems.push({ name: 'body', message: `is longer than ${bodyMax} characters with its variables filled in` })
  }
  for (const { key } of headerParameters) {
    if ((values.get(key) ?? '').length > HEADER_MAX) {
      problems.push({ name: key, message: `must have at most ${HEADER_MAX} characters` })
    }
  }
  const [link, mediaId] = [values.get(HEADER_LINK), values.get(HEADER_MEDIA)]
  if (mediaId !== undefined && link !== undefined) {
    problems.push({ name: HEADER_MEDIA, message: `is not allowed with ${HEADER_LINK}: set one of them` })
  }
  if (mediaId !== undefined && !isUuid(mediaId)) {
    problems.push({ name: HEADER_MEDIA, message: 'must be the ID of a stored file' })
  }
  if (link !== undefined && !isLink(link)) {
    problems.push({ name: HEADER_LINK, message: 'must be the http or https address of a file' })
  }
  if (headerFormat === 'LOCATION') {
    for (const [field, max] of Object.entries({ latitude: 90, longitude: 180 })) {
      const value = values.get(`header.${field}`)
      if (value === undefined || (/^-?\d+(\.\d+)?$/.test(value) && Math.abs(Number(value)) <= max)) continue
      problems.push({ name: `header.${field}`, message: `must be a number between -${max} and ${max}` })
    }
  }
  for (const [index, type] of buttons.entries()) {
    const value = values.get(buttonKey(index)) ?? ''
    if (type === 'copy_code' && value.length > CODE_MAX) {
      problems.push({ name: buttonKey(index), message: `must have at most ${CODE_MAX} characters` })
    }
    if (type === 'url' && (value.includes(' ') || value.length > LINK_MAX)) {
      problems.push({
        name: buttonKey(index),
        message: `must be the end of an address, without spaces and with at most ${LINK_MAX} characters`,
      })
    }
  }
  return problems
}

function isLink(value: string): boolean {
  return value.length <= LINK_MAX && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)
}

type Values = ReadonlyMap<string, string>

function composeHeader(
  { headerFormat, headerParameters }: SendableTemplate,
  values: Values,
): Record<string, unknown>[] {
  if (headerFormat === null) return []
  if (headerFormat === 'TEXT') return composeTexts('header', headerParameters, values)
  const type = headerFormat.toLowerCase()
  if (headerFormat === 'LOCATION') {
    const location = Object.fromEntries(LOCATION_FIELDS.map((field) => [field, values.get(`header.${field}`)]))
    return [{ type: 'header', parameters: [{ type, location }] }]
  }
  const filename = values.get(HEADER_FILENAME)
  const mediaId = values.get(HEADER_MEDIA)?.toLowerCase()
  const source = mediaId === undefined ? { link: values.get(HEADER_LINK) } : { mediaId }
  const file = { ...source, ...(filename === undefined ? {} : { filename }) }
  return [{ type: 'header', parameters: [{ type, [type]: file }] }]
}

function composeBody({ bodyParameters }: SendableTemplate, values: Values): Record<string, unknown>[] {
  return composeTexts('body', bodyParameters, values)
}

function composeTexts(type: 'header' | 'body', parameters: TextParameter[], values: Values): Record<string, unknown>[] {
  if (parameters.length === 0) return []
  const texts = parameters.map(({ key, name }) => ({
    type: 'text',
    ...(name === null ? {} : { parameter_name: name }),
    text: values.get(key),
  }))
  return [{ type, parameters: texts }]
}

function composeButtons({ buttons }: SendableTemplate, values: Values): Record<string, unknown>[] {
  return buttons.flatMap((subType, index) => {
    const parameter = composeButton(subType, values.get(buttonKey(index)))
    return parameter ? [{ type: 'button', sub_type: subType, index: String(index), parameters: [parameter] }] : []
  })
}

/** Without a parameter a quick reply returns its text, and a flow needs a token that nobody reads. */
function composeButton(subType: string, value: string | undefined): Record<string, unknown> | undefined {
  if (subType === 'flow') return { type: 'action', action: { flow_token: value ?? 'unused' } }
  if (value === undefined) return undefined
  if (subType === 'quick_reply') return { type: 'payload', payload: value }
  return subType === 'copy_code' ? { type: 'coupon_code', coupon_code: value } : { type: 'text', text: value }
}
