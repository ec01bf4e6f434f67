import { at, type CloudApiError, invalid, type JsonObject, listAt, textAt } from './http.ts'

const VARIABLE = /\{\{\s*(\w+)\s*\}\}/g
const CATEGORIES = new Set(['MARKETING', 'UTILITY', 'AUTHENTICATION'])
const BUTTONS_MAX = 10

/** Lists the variables of a text in order, each once. */
export function listVariables(text: string): string[] {
  return [...new Set([...text.matchAll(VARIABLE)].map(([, name = '']) => name))]
}

/** Validates a new template as the Cloud API does, as far as the application depends on it. */
export function validateTemplate(template: object): CloudApiError | undefined {
  if (!/^[a-z0-9_]{1,512}$/.test(textAt(template, 'name'))) return invalid('name must be lower case letters and digits')
  if (!/^[a-z]{2,3}(_[A-Z]{2,4})?$/.test(textAt(template, 'language'))) return invalid('language is not supported')
  const category = textAt(template, 'category').toUpperCase()
  if (!CATEGORIES.has(category)) return invalid('category is not valid')
  const components = listAt(template, 'components')
  const types = components.map((component) => textAt(component, 'type').toUpperCase())
  if (new Set(types).size !== types.length) return invalid('components: a type is repeated')
  if (!types.includes('BODY')) return invalid('components: a body is required')
  const isNamed = textAt(template, 'parameter_format').toUpperCase() === 'NAMED'
  for (const component of components) {
    const error = validateComponent(component, { isNamed, isAuthentication: category === 'AUTHENTICATION' })
    if (error) return error
  }
  return undefined
}

type Rules = { isNamed: boolean; isAuthentication: boolean }

function validateComponent(component: unknown, rules: Rules): CloudApiError | undefined {
  const type = textAt(component, 'type').toUpperCase()
  if (type === 'BODY') return rules.isAuthentication ? undefined : validateBody(component, rules)
  if (type === 'HEADER') return validateHeader(component, rules)
  if (type === 'FOOTER')
    return rules.isAuthentication
      ? undefined
      : (validateLength(component, 'FOOTER', 60) ?? validateNoVariables(component))
  if (type === 'BUTTONS') return validateButtons(component)
  return type === 'CAROUSEL' || type === 'LIMITED_TIME_OFFER' ? undefined : invalid(`component ${type} is not known`)
}

function validateBody(component: unknown, { isNamed }: Rules): CloudApiError | undefined {
  const text = textAt(component, 'text')
  const lengthError = validateLength(component, 'BODY', 1024)
  if (lengthError) return lengthError
  if (/^\s*\{\{|\}\}\s*$/.test(text)) return invalid('BODY: variables cannot be at the start or end of the text')
  return validateVariables(text, at(component, 'example'), { field: 'body_text', isNamed, isNested: true })
}

function validateHeader(component: unknown, { isNamed }: Rules): CloudApiError | undefined {
  const format = textAt(component, 'format').toUpperCase()
  const example = at(component, 'example')
  if (format === 'LOCATION') return undefined
  if (['IMAGE', 'VIDEO', 'DOCUMENT'].includes(format))
    return listAt(example, 'header_handle').length > 0
      ? undefined
      : invalid(`HEADER: an example of the ${format} is required`)
  if (format !== 'TEXT') return invalid('HEADER: format is not valid')
  const text = textAt(component, 'text')
  const lengthError = validateLength(component, 'HEADER', 60)
  if (lengthError) return lengthError
  if (listVariables(text).length > 1) return invalid('HEADER: at most one variable is possible')
  return validateVariables(text, example, { field: 'header_text', isNamed, isNested: false })
}

function validateVariables(
  text: string,
  example: unknown,
  { field, isNamed, isNested }: { field: string; isNamed: boolean; isNested: boolean },
): CloudApiError | undefined {
  const variables = listVariables(text)
  if (variables.length === 0) return undefined
  const isWellNamed = variables.every((name, index) =>
    isNamed ? /^[a-z_]\w*$/.test(name) : name === String(index + 1),
  )
  if (!isWellNamed) return invalid(`The variables do not fit parameter_format ${isNamed ? 'NAMED' : 'POSITIONAL'}`)
  const [first] = listAt(example, field)
  const positional = isNested ? first : at(example, field)
  const examples = isNamed ? listAt(example, `${field}_named_params`) : Array.isArray(positional) ? positional : []
  return examples.length === variables.length
    ? undefined
    : invalid(`Examples of the variables in ${field} are required`)
}

function validateButtons(component: unknown): CloudApiError | undefined {
  const buttons = listAt(component, 'buttons')
  if (buttons.length < 1 || buttons.length > BUTTONS_MAX) return invalid(`BUTTONS: 1 to ${BUTTONS_MAX} are possible`)
  for (const button of buttons) {
    const type = textAt(button, 'type').toUpperCase()
    if (['QUICK_REPLY', 'URL', 'PHONE_NUMBER'].includes(type) && !hasLength(textAt(button, 'text'), 25))
      return invalid('BUTTONS: text must have 1 to 25 characters')
    if (type === 'URL' && !/^https?:\/\//.test(textAt(button, 'url'))) return invalid('BUTTONS: url is not valid')
    const hasVariable = listVariables(textAt(button, 'url')).length > 0
    if (hasVariable && listAt(button, 'example').length === 0)
      return invalid('BUTTONS: an example of the url is required')
  }
  return undefined
}

function validateLength(component: unknown, type: string, max: number): CloudApiError | undefined {
  return hasLength(textAt(component, 'text'), max)
    ? undefined
    : invalid(`${type}: text must have 1 to ${max} characters`)
}

function validateNoVariables(component: unknown): CloudApiError | undefined {
  return listVariables(textAt(component, 'text')).length === 0
    ? undefined
    : invalid('FOOTER: variables are not possible')
}

function hasLength(text: string, max: number): boolean {
  return text.length > 0 && text.length <= max
}

type Component = { type: string; sub_type: string; index: string; parameters: unknown[] }

/** Validates the parameters of a send against the template that it names. */
export function validateParameters(components: unknown[], send: JsonObject): CloudApiError | undefined {
  const parts = listAt(at(send, 'template'), 'components').map(toComponent)
  for (const component of components) {
    const type = textAt(component, 'type').toUpperCase()
    const error = type === 'BUTTONS' ? validateUrls(component, parts) : validatePart(type, component, parts)
    if (error) return error
  }
  return undefined
}

function validatePart(type: string, component: unknown, parts: Component[]): CloudApiError | undefined {
  const parameters = parts.find((part) => part.type === type.toLowerCase())?.parameters ?? []
  const format = textAt(component, 'format').toLowerCase()
  if (type === 'HEADER' && format !== 'text') {
    const isFile = parameters.length === 1 && textAt(parameters[0], 'type') === format
    return isFile ? undefined : { status: 400, code: 132012, details: `header: expected a parameter of type ${format}` }
  }
  const variables = listVariables(textAt(component, 'text'))
  if (parameters.length !== variables.length) return countError(type, parameters.length, variables.length)
  const names = parameters.map((parameter) => textAt(parameter, 'parameter_name')).filter(Boolean)
  const isNamed = variables.some((name) => !/^\d+$/.test(name))
  if (isNamed && !variables.every((name) => names.includes(name)))
    return { status: 400, code: 132012, details: `${type.toLowerCase()}: parameter names do not match` }
  const isValid = parameters.every((parameter) => /\S/.test(textAt(parameter, 'text')))
  return isValid ? undefined : { status: 400, code: 131008, details: `${type.toLowerCase()}: a parameter has no text` }
}

function validateUrls(component: unknown, parts: Component[]): CloudApiError | undefined {
  for (const [index, button] of listAt(component, 'buttons').entries()) {
    if (listVariables(textAt(button, 'url')).length === 0) continue
    const part = parts.find((known) => known.type === 'button' && known.index === String(index))
    if (part?.parameters.length !== 1) return countError(`BUTTON ${index}`, part?.parameters.length ?? 0, 1)
  }
  return undefined
}

function countError(name: string, count: number, expected: number): CloudApiError {
  const details = `${name.toLowerCase()}: number of localizable_params (${count}) does not match the expected number (${expected})`
  return { status: 400, code: 132000, details }
}

function toComponent(part: unknown): Component {
  return {
    type: textAt(part, 'type').toLowerCase(),
    sub_type: textAt(part, 'sub_type'),
    index: String(at(part, 'index') ?? ''),
    parameters: listAt(part, 'parameters'),
  }
}

/** Returns the text of a template message, with its parameters. */
export function renderBody(components: unknown[], send: JsonObject): string {
  const body = components.find((component) => textAt(component, 'type').toUpperCase() === 'BODY')
  const part = listAt(at(send, 'template'), 'components')
    .map(toComponent)
    .find(({ type }) => type === 'body')
  return textAt(body, 'text').replaceAll(VARIABLE, (_, name: string) => {
    const parameters = part?.parameters ?? []
    const named = parameters.find((parameter) => textAt(parameter, 'parameter_name') === name)
    return textAt(named ?? parameters[Number(name) - 1], 'text')
  })
}
