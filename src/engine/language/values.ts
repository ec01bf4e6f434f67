import { Context, Drop, toValueSync } from 'liquidjs'
import { liquid, TEMPLATE_LENGTH_MAX } from './liquid.ts'
import { StepError } from './step-error.ts'
import { hasPlaceholder, parseTemplate, TemplateError, type Template } from './template.ts'

/** Everything a placeholder may read starts with one of these. */
export const ROOTS = [
  'contact',
  'conversation',
  'message',
  'trigger',
  'input',
  'vars',
  'steps',
  'run',
  'workflow',
  'workspace',
  'now',
  'item',
  'loop',
] as const
export type Root = (typeof ROOTS)[number]

/** What can be read of a webhook's call before there is a run. */
export const WEBHOOK_ROOTS = ['input', 'trigger', 'now'] as const satisfies readonly Root[]

/** What placeholders read: plain JSON under each root, and the zone in which times are written and read. */
export type Source = { roots: Readonly<Partial<Record<Root, unknown>>>; timezone: string }

/** One value with all that it repeats may not weigh more, or a workflow could double it until the worker falls over. */
const VALUE_LENGTH_MAX = 262_144

/**
 * The value with its placeholders filled in, at any depth. A text that is one placeholder and nothing else becomes what
 * it reads, with its type; elsewhere it becomes text. What is missing is null, or no text.
 */
export function resolveValue(value: unknown, source: Source): unknown {
  const budget = { left: VALUE_LENGTH_MAX }
  return resolveWithin(value, source, budget)
}

export function resolveText(text: string, source: Source): string {
  return toText(resolveValue(text, source))
}

type Budget = { left: number }

function resolveWithin(value: unknown, source: Source, budget: Budget): unknown {
  if (typeof value === 'string') return hasPlaceholder(value) ? fill(value, source, budget) : value
  if (Array.isArray(value)) return value.map((entry) => resolveWithin(entry, source, budget))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, resolveWithin(child, source, budget)]))
}

function fill(text: string, source: Source, budget: Budget): unknown {
  const template = readTemplate(text)
  const context = contextOf(source)
  const [only] = template
  const result =
    template.length === 1 && typeof only === 'object'
      ? read(only, context)
      : template.map((part) => (typeof part === 'string' ? part : toText(read(part, context)))).join('')
  budget.left -= lengthOf(result)
  if (budget.left < 0 || (typeof result === 'string' && result.length > TEMPLATE_LENGTH_MAX)) {
    throw new StepError('value_too_large', 'The value is too large once its placeholders are filled in', FINAL)
  }
  return result
}

const FINAL = { retryable: false }

function readTemplate(text: string): Template {
  try {
    return parseTemplate(text)
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error
    throw new StepError('template_error', `A text ${error.message}`, { ...FINAL, cause: error })
  }
}

function contextOf({ roots, timezone }: Source): Context {
  return new Context(roots, { ...liquid.options, timezoneOffset: timezone }, { sync: true }, { liquid })
}

function read(placeholder: Exclude<Template[number], string>, context: Context): unknown {
  try {
    return asJson(toValueSync(placeholder.value(context)))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new StepError('template_error', `A placeholder could not be filled in: ${reason}`, { ...FINAL, cause: error })
  }
}

/** Filters may give what JSON has no word for; recorded and read back it would be another value. */
function asJson(value: unknown): unknown {
  // Words such as nil and empty are objects to the library.
  if (value instanceof Drop) return asJson(value.valueOf())
  if (value === undefined || typeof value === 'function' || typeof value === 'symbol') return null
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (typeof value === 'string') return value.toWellFormed().replaceAll('\u0000', '')
  return Array.isArray(value) ? value.map(asJson) : value
}

export function toText(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function lengthOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  return typeof value === 'object' && value !== null ? JSON.stringify(value).length : 8
}
