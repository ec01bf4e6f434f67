import { LRUCache } from 'lru-cache'
import { Output, TypeGuards, type Template as LiquidTemplate, type Value } from 'liquidjs'
import { didYouMean } from '../../platform/closest-matches.ts'
import { liquid, TEMPLATE_LENGTH_MAX } from './liquid.ts'

const PLACEHOLDERS_MAX = 200
const FILTER_LENGTH_MAX = 64

/** Literal text and placeholders, in order. */
export type Template = readonly (string | Value)[]

/** An invalid template. The message is meant for its author and continues the name of the text. */
export class TemplateError extends Error {
  override name = 'TemplateError'
}

const parsed = new LRUCache<string, Template>({ maxSize: 4_000_000, sizeCalculation: (_, text) => text.length + 200 })

export function hasPlaceholder(text: string): boolean {
  return text.includes('{{')
}

/** Returns an upper bound of the number of placeholders, without parsing them. */
export function countPlaceholders(text: string): number {
  let count = 0
  for (let at = text.indexOf('{{'); at >= 0; at = text.indexOf('{{', at + 2)) count += 1
  return count
}

export function parseTemplate(text: string): Template {
  const cached = parsed.get(text)
  if (cached) return cached
  const template = parse(text).map((part) => (part instanceof Output ? part.value : readLiteral(part)))
  parsed.set(text, template)
  return template
}

/** Lists the paths that the placeholders of a text read: `['steps', 'a', 'output']` for `{{steps.a.output}}`. */
export function listPaths(text: string): string[][] {
  return liquid
    .globalVariableSegmentsSync(parse(text))
    .map((path) => path.map((part) => (Array.isArray(part) ? '' : String(part))))
}

function parse(text: string): LiquidTemplate[] {
  if (text.includes('{%')) throw new TemplateError('uses {% %}: only {{ placeholders }} are supported')
  if (text.length > TEMPLATE_LENGTH_MAX) throw new TemplateError(`is longer than ${TEMPLATE_LENGTH_MAX} characters`)
  if (countPlaceholders(text) > PLACEHOLDERS_MAX) {
    throw new TemplateError(`has more than ${PLACEHOLDERS_MAX} placeholders`)
  }
  return parseLiquid(text)
}

function parseLiquid(text: string): LiquidTemplate[] {
  try {
    return liquid.parse(text)
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/, line:.*$/s, '') : String(error)
    const [, filter] = UNKNOWN_FILTER.exec(reason) ?? []
    if (filter !== undefined) throw new TemplateError(describeUnknownFilter(filter), { cause: error })
    throw new TemplateError(`is not a valid template: ${reason}`, { cause: error })
  }
}

const UNKNOWN_FILTER = /^undefined filter: (.*)$/s

function describeUnknownFilter(name: string): string {
  const suggestion = didYouMean(name, Object.keys(liquid.filters)) ?? 'See the list of filters'
  return `has the unknown filter ${name.slice(0, FILTER_LENGTH_MAX)}. ${suggestion}`
}

function readLiteral({ token }: LiquidTemplate): string {
  return TypeGuards.isHTMLToken(token) ? token.getContent() : ''
}
