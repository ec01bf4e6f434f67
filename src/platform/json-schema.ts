import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { LRUCache } from 'lru-cache'
import { RE2JS } from 're2js'
import { defineTask } from './compute/compute-task.ts'
import { SECOND } from './time.ts'

export type JsonSchema = Record<string, unknown>

const SCHEMA_LENGTH_MAX = 65_536
const PATTERN_MAX = 1000
const TEXT_MAX = 100_000
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const EMAIL = /^[^\s@]{1,64}@[^\s@]{1,190}$/
const DATE = /^\d{4}-\d\d-\d\d$/
const DATE_TIME = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)$/i

/** Keyed by the schema's text, as every read from the database gives another object. */
const compiled = new LRUCache<string, ValidateFunction | Error>({ max: 500 })

const BUDGET = {
  deadlineMs: 2 * SECOND,
  budgetMessage:
    'Checking against the JSON Schema takes too long or too much memory. Use fewer references, patterns and unique items',
}

/** Runs `jsonSchemaError` on a compute thread: compiling a schema of 1 KB can take minutes. */
export const jsonSchemaErrorTask = defineTask({ ...BUDGET, name: 'json-schema-error', run: jsonSchemaError })

/** Runs `findMismatch` on a compute thread: checking a value against a schema of 1 KB can take minutes. */
export const findMismatchTask = defineTask({
  ...BUDGET,
  name: 'find-json-schema-mismatch',
  run: ({ schema, value, name }: { schema: JsonSchema; value: unknown; name: string }) =>
    findMismatch(schema, value, name),
})

/**
 * Returns the reason why a schema cannot be used; undefined if it can. A schema that refers to itself
 * without end, or multiplies its work with each reference, often shows on an empty object already.
 */
export function jsonSchemaError(schema: JsonSchema): string | undefined {
  const validate = compile(schema)
  if (validate instanceof Error) return validate.message
  try {
    validate({})
    return undefined
  } catch (error) {
    if (error instanceof RangeError) return 'its references lead back to themselves without end'
    throw error
  }
}

/** Returns the first error of a value, such as `input.city must be string`; undefined if it matches the schema. */
export function findMismatch(schema: JsonSchema, value: unknown, name: string): string | undefined {
  const validate = compile(schema)
  if (validate instanceof Error) return `${name} cannot be checked: ${validate.message}`
  if (validate(value)) return undefined
  return describe(validate.errors?.[0], name)
}

function compile(schema: JsonSchema): ValidateFunction | Error {
  const text = JSON.stringify(schema)
  const cached = compiled.get(text)
  if (cached) return cached
  const result = tryCompile(schema, text)
  compiled.set(text, result)
  return result
}

/** Compiles with an instance per schema, so that ids and definitions of customers' schemas never mix. */
function tryCompile(schema: JsonSchema, text: string): ValidateFunction | Error {
  if (text.length > SCHEMA_LENGTH_MAX) return new Error(`the schema is longer than ${SCHEMA_LENGTH_MAX} characters`)
  const { $async: _async, $schema: _dialect, ...checked } = schema
  try {
    return new Ajv({ strict: false, logger: false, unicodeRegExp: false, code: { regExp: safePattern } })
      .addFormat('uuid', UUID)
      .addFormat('email', EMAIL)
      .addFormat('date', DATE)
      .addFormat('date-time', DATE_TIME)
      .addFormat('uri', (text: string) => URL.canParse(text))
      .compile(checked)
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

/** Compiles a pattern of a customer's schema with RE2, whose time is linear in the length of the text. */
const safePattern = Object.assign(
  (source: string) => {
    if (source.length > PATTERN_MAX) throw new Error(`a pattern is longer than ${PATTERN_MAX} characters`)
    const pattern = RE2JS.compile(source)
    return { test: (text: string) => text.length <= TEXT_MAX && pattern.matcher(text).find() }
  },
  { code: '' },
)

function describe(error: ErrorObject | undefined, name: string): string {
  if (!error) return `${name} does not match the schema`
  const path = error.instancePath.replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~')
  const more = error.keyword === 'additionalProperties' ? `: ${String(error.params['additionalProperty'])}` : ''
  const allowed = error.keyword === 'enum' ? `: ${JSON.stringify(error.params['allowedValues'])}` : ''
  return `${name}${path} ${error.message ?? 'does not match the schema'}${more}${allowed}`.slice(0, 500)
}
