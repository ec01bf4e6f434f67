import type { TemplateButton, TemplateComponent } from './components.ts'
import {
  isPositional,
  listPlaceholders,
  type ParameterFormat,
  readTemplate,
  findParameterFormat,
  listVariables,
} from './variables.ts'

/** `path` is relative to the list of components. */
export type ComponentProblem = { path: (string | number)[]; message: string }

type Path = ComponentProblem['path']

const NAME = /^[a-z][a-z0-9_]{0,63}$/
const URLS_MAX = 2
/** Types of buttons of which a template has at most one. */
const SINGLE_BUTTONS = ['PHONE_NUMBER', 'COPY_CODE', 'FLOW'] as const

/** Finds the problems of components that concern several fields: limits, names of variables and missing examples. */
export function checkComponents(components: readonly TemplateComponent[]): ComponentProblem[] {
  const problems = findRepeated(components)
  const template = readTemplate(components)
  if (!template) return [...problems, { path: [], message: 'must have a component of type BODY' }]
  const format = findParameterFormat(template)
  for (const [index, component] of components.entries()) {
    if (component.type === 'HEADER') problems.push(...checkHeader(component, index, format))
    if (component.type === 'BODY') problems.push(...checkVariables(component.text, [index, 'text'], format))
    if (component.type === 'FOOTER' && component.text.includes('{{')) {
      problems.push({ path: [index, 'text'], message: 'must not have variables in a footer' })
    }
    if (component.type === 'BUTTONS') problems.push(...checkButtons(component.buttons, [index, 'buttons']))
  }
  const missing = listVariables(template).filter(
    ({ example, required, name, where }) =>
      required && example === null && (where !== 'header' || template.header?.format === 'TEXT') && name !== '',
  )
  if (problems.length > 0 || missing.length === 0) return problems
  return missing.map(({ name, where }) => ({
    path: [components.findIndex(({ type }) => type === COMPONENT_TYPES[where]), 'example'],
    message: `must have an example for the variable "${name}", which the provider reviews`,
  }))
}

const COMPONENT_TYPES = { header: 'HEADER', body: 'BODY', button: 'BUTTONS' } as const

function findRepeated(components: readonly TemplateComponent[]): ComponentProblem[] {
  return components.flatMap(({ type }, index) =>
    components.findIndex((other) => other.type === type) < index
      ? [{ path: [index], message: `repeats the component ${type}: a template has at most one` }]
      : [],
  )
}

type Header = Extract<TemplateComponent, { type: 'HEADER' }>

function checkHeader({ format, text }: Header, index: number, parameterFormat: ParameterFormat | null) {
  const path = [index, 'text']
  if (format !== 'TEXT') {
    return text === undefined ? [] : [{ path, message: 'is only allowed in a header of format TEXT' }]
  }
  if (text === undefined) return [{ path, message: 'is required in a header of format TEXT' }]
  const problems = checkVariables(text, path, parameterFormat)
  if (listPlaceholders(text).length > 1) {
    problems.push({ path, message: 'must have at most 1 variable in a header' })
  }
  return problems
}

/** Checks the names of variables: `{{1}}`, `{{2}}` ... or `{{first_name}}`, in all texts of the template alike. */
function checkVariables(text: string, path: Path, format: ParameterFormat | null): ComponentProblem[] {
  const names = listPlaceholders(text)
  const invalid = names.find((name) => !isPositional(name) && !NAME.test(name))
  if (invalid !== undefined) {
    const message = `has the variable "{{${invalid.slice(0, 64)}}}": write {{1}}, or a name of lower-case letters, digits and underscores such as {{first_name}}`
    return [{ path, message }]
  }
  const rest = text.replaceAll(/\{\{[^{}]*\}\}/g, '')
  if (rest.includes('{{') || rest.includes('}}')) {
    return [{ path, message: 'has braces that belong to no variable: write {{1}} or {{first_name}}' }]
  }
  if (names.some((name) => isPositional(name) !== (format === 'positional'))) {
    return [{ path, message: 'mixes named and positional variables: use either {{first_name}} or {{1}} in all texts' }]
  }
  if (format !== 'positional') return []
  const isComplete = names.toSorted((a, b) => Number(a) - Number(b)).every((name, index) => name === String(index + 1))
  return isComplete ? [] : [{ path, message: 'must number its variables {{1}}, {{2}}, {{3}} ... without gaps' }]
}

function checkButtons(buttons: readonly TemplateButton[], path: Path): ComponentProblem[] {
  const problems: ComponentProblem[] = []
  const count = (type: TemplateButton['type']) => buttons.filter((button) => button.type === type).length
  if (count('URL') > URLS_MAX) problems.push({ path, message: `must have at most ${URLS_MAX} buttons of type URL` })
  for (const type of SINGLE_BUTTONS) {
    if (count(type) > 1) problems.push({ path, message: `must have at most 1 button of type ${type}` })
  }
  if (count('FLOW') > 0 && buttons.length > 1) {
    problems.push({ path, message: 'must have no other button beside one of type FLOW' })
  }
  // Quick replies form one group, before or after the others.
  const kinds = buttons.map(({ type }) => type === 'QUICK_REPLY')
  const changes = kinds.filter((kind, index) => index > 0 && kind !== kinds[index - 1]).length
  if (changes > 1) problems.push({ path, message: 'must not have other buttons between those of type QUICK_REPLY' })
  const texts = buttons.flatMap((button) => ('text' in button ? [button.text] : []))
  if (new Set(texts).size < texts.length) problems.push({ path, message: 'must not repeat the text of a button' })
  for (const [index, button] of buttons.entries()) {
    if (button.type === 'URL') problems.push(...checkUrl(button.url, [...path, index, 'url']))
  }
  return problems
}

/** The address of a button ends with its variable, if it has one. */
function checkUrl(url: string, path: Path): ComponentProblem[] {
  const names = [...url.matchAll(/\{\{[^{}]*\}\}/g)].map(([name]) => name)
  const fixed = url.replace(/\{\{1\}\}$/, '')
  if (names.length > 1 || /[{}]/.test(fixed)) {
    return [{ path, message: 'may have one variable, {{1}}, at its end' }]
  }
  const isAddress = URL.canParse(fixed) && /^https?:$/.test(new URL(fixed).protocol)
  return isAddress ? [] : [{ path, message: 'must be an http or https address' }]
}
