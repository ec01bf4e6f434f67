import { z } from 'zod'
import { toIsoTime } from '../platform/iso-time.ts'

/** Copies what an output schema declares from a value. Objects within the copy may be those of the value. */
export type Select = (value: unknown) => unknown

/** `text` is the form of JSON. */
export type TimeForm = 'date' | 'text'

const selects = { date: new WeakMap<z.core.$ZodType, Select>(), text: new WeakMap<z.core.$ZodType, Select>() }

/**
 * Returns the function that selects the declared fields of an output, as parsing would, without checking the values. A
 * value of another structure than the schema's is rejected, so that nothing undeclared can be within it.
 */
export function createSelect(schema: z.core.$ZodType, times: TimeForm = 'date'): Select {
  const known = selects[times].get(schema)
  if (known) return known
  const select = compile(schema, times)
  selects[times].set(schema, select)
  return select
}

function compile(schema: z.core.$ZodType, times: TimeForm): Select {
  if (schema instanceof z.ZodObject) return selectFields(schema, times)
  if (schema instanceof z.ZodArray) return selectItems(createSelect(schema.element, times))
  if (schema instanceof z.ZodRecord) return selectValues(createSelect(schema.valueType, times))
  if (schema instanceof z.ZodNullable) return unless(null, createSelect(schema.unwrap(), times))
  if (schema instanceof z.ZodOptional) return unless(undefined, createSelect(schema.unwrap(), times))
  if (schema instanceof z.ZodDefault) return selectOrDefault(schema, times)
  if (schema instanceof z.ZodUnknown) return selectAll
  if (schema instanceof z.ZodDate) return times === 'date' ? selectTime : selectTimeText
  if (LEAVES.some((leaf) => schema instanceof leaf)) return selectLeaf
  if (schema instanceof z.ZodUnion && schema.options.every((option) => compile(option, times) === selectLeaf))
    return selectLeaf
  // Only parsing shows which of several schemas describes a value.
  return (value) => z.parse(schema, value)
}

const LEAVES = [
  z.ZodString,
  z.ZodStringFormat,
  z.ZodNumber,
  z.ZodBoolean,
  z.ZodEnum,
  z.ZodLiteral,
  z.ZodTemplateLiteral,
  z.ZodNull,
]

const selectAll: Select = (value) => value

const selectLeaf: Select = (value) => {
  if (typeof value === 'object' && value !== null) throw new TypeError('The output has an object in place of a value')
  return value
}

const selectTime = (value: unknown): Date => {
  if (!(value instanceof Date)) throw new TypeError('The output has another value in place of a date')
  return value
}

const selectTimeText: Select = (value) => toIsoTime(selectTime(value))

function unless(exception: null | undefined, select: Select): Select {
  return (value) => (value === exception ? value : select(value))
}

function selectOrDefault(schema: z.ZodDefault, times: TimeForm): Select {
  const select = createSelect(schema.unwrap(), times)
  return (value) => (value === undefined ? schema.def.defaultValue : select(value))
}

function selectItems(select: Select): Select {
  return (value) => {
    if (!Array.isArray(value)) throw new TypeError('The output has another value in place of a list')
    return select === selectAll ? value : value.map((item: unknown) => select(item))
  }
}

function selectValues(select: Select): Select {
  return (value) => {
    assertObject(value)
    if (select === selectAll) return value
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, select(item)]))
  }
}

function selectFields(schema: z.ZodObject, times: TimeForm): Select {
  // Schemas may contain themselves, so that fields are compiled when the first value is selected.
  let fields: [name: string, select: Select][] | undefined
  const { catchall } = schema.def
  const selectOther = catchall && !(catchall instanceof z.ZodNever) ? createSelect(catchall, times) : undefined
  return (value) => {
    fields ??= Object.entries(schema.shape).map(([name, field]) => [name, createSelect(field, times)])
    assertObject(value)
    const selected: Record<string, unknown> = {}
    for (const [name, select] of fields) {
      const result = select(value[name])
      if (result !== undefined || name in value) selected[name] = result
    }
    if (!selectOther) return selected
    // The declared fields come first, as in the result of parsing.
    if (selectOther === selectAll) return { ...selected, ...value, ...selected }
    for (const [name, other] of Object.entries(value)) {
      if (!Object.hasOwn(schema.shape, name)) selected[name] = selectOther(other)
    }
    return selected
  }
}

function assertObject(value: unknown): asserts value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new TypeError('The output has another value in place of an object')
  }
}
