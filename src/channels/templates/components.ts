import { z } from 'zod'
import { isPositional, listPlaceholders } from './variables.ts'

/**
 * Components of a message template in the shape of the Cloud API. Types and formats may be written in lower case. The
 * provider's list may have other components; those are kept as they are, and templates that have them cannot be sent.
 */
const HEADER_MAX = 60
const BODY_MAX = 1024
const FOOTER_MAX = 60
const BUTTON_TEXT_MAX = 25
const BUTTONS_MAX = 10
const URL_MAX = 2000
const PHONE_MAX = 20
const CODE_MAX = 15
const EXAMPLE_MAX = 200
const VARIABLES_MAX = 50

/** Text that Postgres can store, neither blank nor longer than `max`. */
function sentence(max: number, noun: string) {
  return z
    .string()
    .trim()
    .min(1, `${noun} must not be empty`)
    .max(max, `${noun} must have at most ${max} characters`)
    .refine((value) => !value.includes('\u0000') && value.isWellFormed(), {
      error: 'contains characters that cannot be stored',
      abort: true,
    })
}

const example = sentence(EXAMPLE_MAX, 'An example')
const NamedExamples = z
  .array(z.strictObject({ param_name: sentence(64, 'The name of a variable'), example }))
  .max(VARIABLES_MAX, `must have at most ${VARIABLES_MAX} entries`)
const examples = z.array(example).max(VARIABLES_MAX, `must have at most ${VARIABLES_MAX} entries`)

const HeaderComponent = z.strictObject({
  type: z.literal('HEADER'),
  format: z.enum(
    ['TEXT', 'IMAGE', 'VIDEO', 'DOCUMENT', 'LOCATION'],
    'must be TEXT, IMAGE, VIDEO, DOCUMENT or LOCATION',
  ),
  text: sentence(HEADER_MAX, 'The text of a header').optional(),
  example: z
    .strictObject({
      header_text: examples.optional(),
      header_text_named_params: NamedExamples.optional(),
      header_handle: z.array(sentence(2000, 'The handle of an example file')).length(1).optional(),
    })
    .optional(),
})

const BodyComponent = z.strictObject({
  type: z.literal('BODY'),
  text: sentence(BODY_MAX, 'The body'),
  example: z
    .strictObject({
      body_text: z.array(examples).length(1, 'must have one list of examples').optional(),
      body_text_named_params: NamedExamples.optional(),
    })
    .optional(),
})

const FooterComponent = z.strictObject({ type: z.literal('FOOTER'), text: sentence(FOOTER_MAX, 'The footer') })

const label = sentence(BUTTON_TEXT_MAX, 'The text of a button')

export const TemplateButton = z.discriminatedUnion(
  'type',
  [
    z.strictObject({ type: z.literal('QUICK_REPLY'), text: label }),
    z.strictObject({
      type: z.literal('URL'),
      text: label,
      url: sentence(URL_MAX, 'The URL of a button'),
      example: z.array(sentence(URL_MAX, 'An example')).length(1, 'must have one example').optional(),
    }),
    z.strictObject({
      type: z.literal('PHONE_NUMBER'),
      text: label,
      phone_number: sentence(PHONE_MAX, 'The phone number of a button').regex(
        /^\+?\d[\d ]*$/,
        'must be a phone number such as +4930123456',
      ),
    }),
    z.strictObject({
      type: z.literal('COPY_CODE'),
      example: z.union([
        sentence(CODE_MAX, 'A code'),
        z.array(sentence(CODE_MAX, 'A code')).length(1, 'must have one example'),
      ]),
    }),
    z.strictObject({
      type: z.literal('FLOW'),
      text: label,
      flow_id: z.string().regex(/^\d{1,32}$/, 'must be the digits of a flow ID'),
      flow_action: z.enum(['navigate', 'data_exchange']).optional(),
      navigate_screen: sentence(64, 'The name of a screen').optional(),
    }),
  ],
  { error: 'type must be QUICK_REPLY, URL, PHONE_NUMBER, COPY_CODE or FLOW' },
)
export type TemplateButton = z.output<typeof TemplateButton>

const ButtonsComponent = z.strictObject({
  type: z.literal('BUTTONS'),
  buttons: z
    .array(TemplateButton)
    .min(1, 'must have at least 1 button')
    .max(BUTTONS_MAX, `must have at most ${BUTTONS_MAX} buttons`),
})

const Component = z.discriminatedUnion('type', [HeaderComponent, BodyComponent, FooterComponent, ButtonsComponent], {
  error: 'type must be HEADER, BODY, FOOTER or BUTTONS',
})
export type TemplateComponent = z.output<typeof Component>
export type HeaderComponent = z.output<typeof HeaderComponent>

const Components = z
  .array(Component)
  .min(1, 'must have a component of type BODY')
  .max(4, 'must have at most one HEADER, one BODY, one FOOTER and one BUTTONS')

/** Components as the API accepts them; `checkComponents` finds the problems that concern several fields. */
export const TemplateComponents = z.preprocess(
  (input: z.input<typeof Components>) => toUpperCaseTypes(input),
  Components,
)

const UPPER_CASE_FIELDS = new Set(['type', 'format'])

function toUpperCaseTypes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toUpperCaseTypes)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => [
      key,
      typeof child === 'string' && UPPER_CASE_FIELDS.has(key)
        ? child.toUpperCase()
        : key === 'buttons' || Number.isInteger(Number(key))
          ? toUpperCaseTypes(child)
          : child,
    ]),
  )
}

/** Makes the component of a template that has only a body. The examples of its variables are their names. */
export function toBodyComponent(text: string): TemplateComponent {
  const names = listPlaceholders(text)
  if (names.length === 0) return { type: 'BODY', text }
  const example = names.every(isPositional)
    ? { body_text: [names.map((name) => `Value ${name}`)] }
    : { body_text_named_params: names.map((name) => ({ param_name: name, example: name })) }
  return { type: 'BODY', text, example }
}
