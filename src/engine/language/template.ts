import { LRUCache } from 'lru-cache'
import { Output, TypeGuards, type Template as LiquidTemplate, type Value } from 'liquidjs'
import { liquid, TEMPLATE_LENGTH_MAX } from './liquid.ts'

const PLACEHOLDERS_MAX = 200

/** Literal text and placeholders, in order. */
export type Template = readonly (string | Value)[]

/** A text that cannot be used as a template, in words for its author. */
export class TemplateError extends Error {
  override name = 'TemplateRefused'
}

const parsed = new LRUCache<string, Template>({ maxSize: 4_000_000, sizeCalculation: (_, text) => text.length + 200 })

export function hasPlaceholder(text: string): boolean {
  return text.includes('{{')
}

/** At least as many as there are, without reading them. */
export function countPlaceholders(text: string): number {
  return text.split('{{').length - 1
}

export function parseTemplate(text: string): Template {
  const known = parsed.get(text)
  if (known) return known
  const fresh = parse(text).map((part) => (part instanceof Output ? part.value : literalOf(part)))
  parsed.set(text, fresh)
  return fresh
}

/** What the placeholders of a text read, path by path: `{{steps.ask.output}}` reads `['steps', 'ask', 'output']`. */
export function listPaths(text: string): string[][] {
  return liquid
    .globalVariableSegmentsSync(parse(text))
    .map((path) => path.map((part) => (Array.isArray(part) ? '' : String(part))))
}

function parse(text: string): LiquidTemplate[] {
  if (text.includes('{%')) throw new TemplateError('has a {% tag %}: only {{ placeholders }} can be used')
  if (text.length > TEMPLATE_LENGTH_MAX) throw new TemplateError(`is longer than ${TEMPLATE_LENGTH_MAX} characters`)
  if (countPlaceholders(text) > PLACEHOLDERS_MAX) {
    throw new TemplateError(`has more than ${PLACEHOLDERS_MAX} placeholders`)
  }
  return readParts(text)
}

function readParts(text: string): LiquidTemplate[] {
  try {
    return liquid.parse(text)
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/, line:.*$/s, '') : String(error)
    throw new TemplateError(`is not a template that can be read: ${reason}`, { cause: error })
  }
}

function literalOf({ token }: LiquidTemplate): string {
  return TypeGuards.isHTMLToken(token) ? token.getContent() : ''
}
