import { Context, Drop, toValueSync } from 'liquidjs'
import { liquid, TEMPLATE_LENGTH_MAX } from './liquid.ts'
import { StepError } from './step-error.ts'
import { spendWork } from './work-budget.ts'
import { countPlaceholders, hasPlaceholder, parseTemplate, TemplateError, type Template } from './template.ts'

/** Roots of the paths that placeholders read. */
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

/** Values for placeholders: plain JSON under each root, and the time zone in which times are read and formatted. */
export type Source = { roots: Readonly<Partial<Record<Root, unknown>>>; timezone: string }

/** Size limit of one resolved value, so that a workflow cannot double a value until the worker is out of memory. */
const VALUE_LENGTH_MAX = 262_144
const PLACEHOLDER_WORK = 200
const CHARACTER_WORK = 0.1
/** Per character or list entry that the library allocates, such as those of a range. */
const ALLOCATION_WORK = 0.25

/**
 * Fills in the placeholders of a value, at any depth. A text that is a single placeholder becomes its value, with its
 * type; within a text it becomes text. A missing value is null, or an empty text.
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
  // Parsing costs as much as reading, and counts whether or not the template is cached.
  spendWork(text.length + countPlaceholders(text) * PLACEHOLDER_WORK)
  const template = readTemplate(text)
  const context = createContext(source)
  const [only] = template
  const result =
    template.length === 1 && typeof only === 'object'
      ? read(only, context)
      : template.map((part) => (typeof part === 'string' ? part : toText(read(part, context)))).join('')
  const length = measure(result)
  spendWork(length * CHARACTER_WORK)
  budget.left -= length
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
    throw new StepError('placeholder_failed', `A template ${error.message}`, { ...FINAL, cause: error })
  }
}

function createContext({ roots, timezone }: Source): Context {
  const context = new Context(roots, { ...liquid.options, timezoneOffset: timezone }, { sync: true }, { liquid })
  const { memoryLimit } = context
  const use = memoryLimit.use.bind(memoryLimit)
  memoryLimit.use = (count) => {
    use(count)
    if (count > 0) spendWork(count * ALLOCATION_WORK)
  }
  return context
}

function read(placeholder: Exclude<Template[number], string>, context: Context): unknown {
  try {
    return toJson(toValueSync(placeholder.value(context)))
  } catch (error) {
    if (error instanceof StepError) throw error
    const reason = error instanceof Error ? error.message : String(error)
    throw new StepError('placeholder_failed', `A placeholder could not be filled in: ${reason}`, {
      ...FINAL,
      cause: error,
    })
  }
}

/** Replaces values that JSON cannot represent, because they would change when they are stored and read back. */
function toJson(value: unknown): unknown {
  // Literals such as nil and empty are objects in the library.
  if (value instanceof Drop) return toJson(value.valueOf())
  if (value === undefined || typeof value === 'function' || typeof value === 'symbol') return null
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (typeof value === 'string') return value.toWellFormed().replaceAll('\u0000', '')
  return Array.isArray(value) ? value.map(toJson) : value
}

export function toText(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function measure(value: unknown): number {
  if (typeof value === 'string') return value.length
  return typeof value === 'object' && value !== null ? JSON.stringify(value).length : 8
}
