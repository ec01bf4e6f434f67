import { z } from 'zod'

export type ParameterFormat = 'named' | 'positional'

/** A value that a message made from the template needs. `name` is its key in the parameters of the message. */
export type TemplateVariable = {
  name: string
  /** Sample value that the provider reviews; null if it has none. */
  example: string | null
  where: 'header' | 'body' | 'button'
  required: boolean
}

const text = z.string().optional().catch(undefined)
const Examples = z.looseObject({
  header_text: z.array(z.string()).catch([]),
  header_text_named_params: z.array(z.looseObject({ param_name: z.string(), example: z.string() })).catch([]),
  body_text: z.array(z.array(z.string())).catch([]),
  body_text_named_params: z.array(z.looseObject({ param_name: z.string(), example: z.string() })).catch([]),
})
const NO_EXAMPLES = Examples.parse({})

/** Components as far as sending needs them: the provider adds fields and kinds at any time. */
const Header = z.looseObject({
  type: z.literal('HEADER'),
  format: z.enum(['TEXT', 'IMAGE', 'VIDEO', 'DOCUMENT', 'LOCATION']),
  text,
  example: Examples.catch(NO_EXAMPLES).default(NO_EXAMPLES),
})
const Body = z.looseObject({
  type: z.literal('BODY'),
  text: z.string(),
  example: Examples.catch(NO_EXAMPLES).default(NO_EXAMPLES),
})
const Footer = z.looseObject({ type: z.literal('FOOTER'), text })
const Button = z.looseObject({
  type: z.enum(['QUICK_REPLY', 'URL', 'PHONE_NUMBER', 'COPY_CODE', 'FLOW', 'CATALOG', 'VOICE_CALL']),
  text,
  url: text,
  example: z.union([z.string().transform((value) => [value]), z.array(z.string())]).catch([]),
})
const Buttons = z.looseObject({ type: z.literal('BUTTONS'), buttons: z.array(Button) })
const Components = z.array(z.discriminatedUnion('type', [Header, Body, Footer, Buttons]))

export type ReadableTemplate = {
  header: z.output<typeof Header> | undefined
  body: z.output<typeof Body>
  buttons: z.output<typeof Button>[]
}

/** Reads stored components; undefined if they have a part that cannot be sent, such as a carousel. */
export function readTemplate(components: unknown): ReadableTemplate | undefined {
  const list = Components.safeParse(components).data
  const body = list?.find((component) => component.type === 'BODY')
  if (!list || !body) return undefined
  return {
    header: list.find((component) => component.type === 'HEADER'),
    body,
    buttons: list.find((component) => component.type === 'BUTTONS')?.buttons ?? [],
  }
}

const PLACEHOLDER = /\{\{([^{}]*)\}\}/g

/** Lists the names between double braces, in order and each once. */
export function listPlaceholders(template: string): string[] {
  return [...new Set([...template.matchAll(PLACEHOLDER)].map(([, name = '']) => name))]
}

/** Splits a text into literals and placeholders: those at odd positions are names. */
export function splitPlaceholders(template: string): string[] {
  return template.split(PLACEHOLDER)
}

export function isPositional(name: string): boolean {
  return /^\d+$/.test(name)
}

/** Returns how the texts name their variables; null if they have none. */
export function findParameterFormat({ header, body }: ReadableTemplate): ParameterFormat | null {
  const [name] = listPlaceholders(`${header?.text ?? ''} ${body.text}`)
  if (name === undefined) return null
  return isPositional(name) ? 'positional' : 'named'
}

/** Key of the variable in the text of a header. A header has a numbering of its own, so its key differs from the body's. */
export function headerTextKey(name: string): string {
  return isPositional(name) ? `header.${name}` : name
}

export const HEADER_LINK = 'header.link'
/** ID of a stored file, which replaces the link. */
export const HEADER_MEDIA = 'header.mediaId'
export const HEADER_FILENAME = 'header.filename'
/** Keys of a location, with their fields in a message. */
export const LOCATION_FIELDS = ['latitude', 'longitude', 'name', 'address'] as const

export function buttonKey(index: number): string {
  return `button.${index}`
}

export function listVariables(template: ReadableTemplate): TemplateVariable[] {
  return distinctByName([
    ...listHeaderVariables(template),
    ...listBodyVariables(template),
    ...listButtonVariables(template),
  ])
}

/** A named variable may occur in the header and in the body: it has one value. */
function distinctByName(variables: TemplateVariable[]): TemplateVariable[] {
  const names = new Set<string>()
  return variables.filter(({ name }) => !names.has(name) && names.add(name))
}

function listHeaderVariables({ header }: ReadableTemplate): TemplateVariable[] {
  if (!header) return []
  const where = 'header' as const
  if (header.format === 'LOCATION') {
    return LOCATION_FIELDS.map((field) => ({ name: `header.${field}`, example: null, where, required: true }))
  }
  if (header.format !== 'TEXT') {
    const link: TemplateVariable = { name: HEADER_LINK, example: null, where, required: true }
    const media: TemplateVariable = { name: HEADER_MEDIA, example: null, where, required: false }
    const filename: TemplateVariable = { name: HEADER_FILENAME, example: null, where, required: false }
    return header.format === 'DOCUMENT' ? [link, media, filename] : [link, media]
  }
  const { header_text, header_text_named_params } = header.example
  return listPlaceholders(header.text ?? '').map((name, index) => ({
    name: headerTextKey(name),
    example: header_text_named_params.find((one) => one.param_name === name)?.example ?? header_text[index] ?? null,
    where,
    required: true,
  }))
}

function listBodyVariables({ body }: ReadableTemplate): TemplateVariable[] {
  const { body_text, body_text_named_params } = body.example
  return listPlaceholders(body.text).map((name) => ({
    name,
    example:
      body_text_named_params.find((one) => one.param_name === name)?.example ??
      body_text[0]?.[Number(name) - 1] ??
      null,
    where: 'body',
    required: true,
  }))
}

function listButtonVariables({ buttons }: ReadableTemplate): TemplateVariable[] {
  return buttons.flatMap(({ type, url, example: [example = null] }, index): TemplateVariable[] => {
    const variable = { name: buttonKey(index), where: 'button' as const }
    switch (type) {
      case 'URL':
        return listPlaceholders(url ?? '').length > 0 ? [{ ...variable, example, required: true }] : []
      case 'COPY_CODE':
        return [{ ...variable, example, required: true }]
      case 'QUICK_REPLY':
      case 'FLOW':
        return [{ ...variable, example: null, required: false }]
      default:
        return []
    }
  })
}
