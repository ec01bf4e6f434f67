import superjson, { type SuperJSONResult } from 'superjson'
import { assertBounded } from '../platform/bounded-json.ts'
import { InvalidError } from '../platform/errors.ts'
import { toIsoTime } from '../platform/iso-time.ts'

/** Values of an input that JSON cannot express. */
const ANNOTATIONS_MAX = 1_000
/** Types that procedures accept beside those of JSON. */
const ANNOTATED_TYPES = ['undefined', 'Date']

/**
 * Reads and writes the superjson format, which tRPC clients use with their `superjson` transformer. Inputs are bounded
 * before they are interpreted, and must be trees: references between their parts are rejected. Outputs hold JSON and
 * dates, under keys of any name.
 */
export const transformer = {
  input: { serialize: superjson.serialize, deserialize: deserializeInput },
  output: { serialize: serializeOutput, deserialize: deserializeOutput },
}

/** @throws InvalidError `input_too_complex` or `validation_failed` */
function deserializeInput(payload: unknown): unknown {
  if (!isRecord(payload)) throw formatError()
  const { json, meta } = payload
  // An empty object is what is left of one whose input is undefined.
  if (json === undefined && Object.keys(payload).length > 0) throw formatError()
  assertBounded(json)
  if (meta === undefined) return json
  assertBounded(meta, ANNOTATIONS_MAX)
  if (!isRecord(meta)) throw invalid('The member "meta" must be an object')
  if (meta['referentialEqualities'] !== undefined) {
    throw invalid(
      'The input refers to one object from several places (meta.referentialEqualities). Send copies instead',
    )
  }
  const { values } = meta
  if (values === undefined) return json
  const type = findOtherType(values)
  if (type !== undefined) throw invalid(`The input has a value of type ${type}. Send JSON values and dates only`)
  return annotate({ json, meta: { values, v: 1 } })
}

function annotate(result: unknown): unknown {
  try {
    return superjson.deserialize(result as SuperJSONResult, { inPlace: true })
  } catch (cause) {
    throw new InvalidError('The member "meta" does not fit the input', undefined, undefined, { cause })
  }
}

/** Annotations are lists that start with a type and may hold more of them, by path. They were bounded before. */
function findOtherType(values: unknown): string | undefined {
  const pending = [values]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (Array.isArray(next)) {
      const [type, children] = next
      if (!ANNOTATED_TYPES.includes(String(type))) return JSON.stringify(type).slice(0, 40)
      if (children !== undefined) pending.push(children)
    } else if (isRecord(next)) pending.push(...Object.values(next))
    else return JSON.stringify(next).slice(0, 40)
  }
  return undefined
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function formatError(): InvalidError {
  return invalid('Send every input as {"json": …}, the format of superjson')
}

function invalid(message: string): InvalidError {
  return new InvalidError(message)
}

/** A value in the superjson format. */
export type Serialized = { json: unknown; meta?: { values: unknown; v: 1 } }

function serializeOutput(value: unknown): Serialized {
  if (value === undefined) return { json: null, meta: { values: ['undefined'], v: 1 } }
  if (value instanceof Date) return { json: toIso(value), meta: { values: ['Date'], v: 1 } }
  const dates: Record<string, ['Date']> = {}
  const json = copyWithoutDates(value, [], dates)
  return Object.keys(dates).length > 0 ? { json, meta: { values: dates, v: 1 } } : { json }
}

function deserializeOutput(value: Serialized): unknown {
  return superjson.deserialize(value as SuperJSONResult)
}

/** Copies a value with its dates as text, and collects their paths. Members that are undefined are left out. */
function copyWithoutDates(value: unknown, path: string[], dates: Record<string, ['Date']>): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Date) {
    dates[path.map(escapeKey).join('.')] = ['Date']
    return toIso(value)
  }
  const copyMember = (key: string, child: unknown) => {
    path.push(key)
    const copied = copyWithoutDates(child, path, dates)
    path.pop()
    return copied
  }
  if (Array.isArray(value)) return value.map((child: unknown, index) => copyMember(String(index), child))
  const copy: Record<string, unknown> = {}
  for (const [key, child] of Object.entries(value)) {
    if (child === undefined) continue
    const copied = typeof child === 'object' ? copyMember(key, child) : child
    // An assignment would set the prototype.
    if (key === '__proto__') Object.defineProperty(copy, key, { value: copied, enumerable: true })
    else copy[key] = copied
  }
  return copy
}

function escapeKey(key: string): string {
  if (!key.includes('.') && !key.includes('\\')) return key
  return key.replaceAll('\\', '\\\\').replaceAll('.', '\\.')
}

function toIso(date: Date): string {
  return Number.isNaN(date.getTime()) ? 'Invalid Date' : toIsoTime(date)
}
