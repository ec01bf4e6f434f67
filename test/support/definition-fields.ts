import { DAY } from '../../src/platform/time.ts'

/** A field of a definition as the reference shows it. `initial` is `required`, a default in JSON, or a dash. */
export type Field = { path: string; type: string; initial: string; meaning: string }

type Schema = {
  $ref?: string
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  format?: string
  description?: string
  default?: unknown
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  additionalProperties?: Schema | boolean
  anyOf?: Schema[]
  minimum?: number
  maximum?: number
  exclusiveMinimum?: number
  maxItems?: number
  pattern?: string
}

/** The fields of an object and of the objects in it, except steps and conditions, which have their own sections. */
export function listFields(schema: unknown, prefix = ''): Field[] {
  const { properties = {}, required = [] } = schema as Schema
  return Object.entries(properties).flatMap(([name, field]) => {
    const path = `${prefix}${name}`
    const isRequired = required.includes(name)
    const initial = isRequired ? 'required' : field.default === undefined ? '–' : `\`${JSON.stringify(field.default)}\``
    const { description: meaning = '' } = field
    return [{ path: `\`${path}\``, type: toTypeText(field), initial, meaning }, ...listFieldsWithin(field, path)]
  })
}

function listFieldsWithin({ items, additionalProperties, ...field }: Schema, path: string): Field[] {
  const object = field.anyOf?.find(isObject)
  if (object) return listFields(object, `${path}.`)
  if (field.properties) return listFields(field, `${path}.`)
  if (items?.properties) return listFields(items, `${path}[].`)
  const values = typeof additionalProperties === 'object' ? additionalProperties : undefined
  return values?.properties ? listFields(values, `${path}.*.`) : []
}

/** A choice without a type only says which fields exclude each other. */
function isObject({ type, properties }: Schema): boolean {
  return type === 'object' && properties !== undefined
}

const REFERENCES = new Map([
  ['#/$defs/Condition', '[condition](#conditions)'],
  ['#/$defs/Step', '[step](#steps)'],
  ['#/$defs/Trigger', '[trigger](#triggers)'],
])
const NAME = '^[a-z][a-z0-9_]{0,63}$'

export function toTypeText(schema: Schema): string {
  if (schema.$ref) return REFERENCES.get(schema.$ref) ?? schema.$ref
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``
  if (schema.enum) return schema.enum.map((value) => `\`${String(value)}\``).join(', ')
  if (schema.anyOf?.some(({ pattern }) => pattern?.includes('[smhdw]'))) return '[duration](#durations)'
  if (schema.anyOf?.some(isObject)) return schema.anyOf.map(toTypeText).join(' or ')
  if (schema.items) {
    const entries = schema.items.properties ? 'objects' : toTypeText(schema.items)
    return `list of ${entries}${schema.maxItems ? `, at most ${schema.maxItems}` : ''}`
  }
  if (schema.format === 'uuid') return 'ID'
  if (schema.pattern === NAME) return 'name'
  if (schema.anyOf?.some(({ type }) => type === 'null')) return 'text or null'
  if (Array.isArray(schema.type)) return schema.type.map((type) => TYPES.get(type) ?? type).join(', ')
  if (schema.type === undefined) return 'any value'
  return `${TYPES.get(schema.type) ?? schema.type}${toRange(schema)}`
}

const TYPES = new Map([
  ['string', 'text'],
  ['boolean', 'true or false'],
])

function toRange({ minimum, maximum, exclusiveMinimum }: Schema): string {
  if (maximum === undefined || maximum > DAY) return ''
  if (exclusiveMinimum !== undefined) return `, more than ${exclusiveMinimum}, at most ${maximum}`
  return `, ${minimum} to ${maximum}`
}
