import { describeComponent, describeField } from './field-descriptions.ts'
import type { Schema } from './document.ts'

/** Bounds of integers that JavaScript cannot exceed anyway, which the library writes to each. */
const BOUNDS = { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }

/** Formats whose pattern says the same at length. */
const FORMATS = new Set<unknown>(['date-time', 'email', 'uuid'])

/**
 * Returns a schema without what says nothing, and with the shared descriptions of fields that have none. `owner` is the
 * component, tag or field that the schema belongs to.
 */
export function tidySchema(schema: Schema, owner: string): Schema {
  const { properties, items, additionalProperties, anyOf, oneOf, allOf, ...rest } = schema
  const tidy = (part: Schema) => (isSchema(part) ? tidySchema(part, owner) : part)
  const isObject = rest.type === 'object'
  return mergeNull({
    ...dropNoise(rest),
    ...(properties ? { properties: tidyFields(properties, { owner, isObject }) } : {}),
    ...(items ? { items: tidy(items) } : {}),
    ...(isSchema(additionalProperties) ? { additionalProperties: tidy(additionalProperties) } : {}),
    ...(typeof additionalProperties === 'boolean' ? { additionalProperties } : {}),
    ...(anyOf ? { anyOf: anyOf.map(tidy) } : {}),
    ...(oneOf ? { oneOf: oneOf.map(tidy) } : {}),
    ...(Array.isArray(allOf) ? { allOf: allOf.map(tidy) } : {}),
  })
}

/** Returns a component without noise and with its description. */
export function tidyComponent(schema: Schema, name: string): Schema {
  const description = schema['description'] ?? describeComponent(name)
  return { ...tidySchema(schema, name), ...(description === undefined ? {} : { description }) }
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null
}

/** The properties of a rule such as `oneOf` only name fields, which the object itself describes. */
function tidyFields(
  fields: Record<string, Schema>,
  { owner, isObject }: { owner: string; isObject: boolean },
): Record<string, Schema> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => {
      if (!isObject || !isSchema(field)) return [name, field]
      const tidy = tidySchema(field, name === 'items' ? owner : name)
      const description = tidy['description'] ?? describeField(name, owner)
      return [name, description === undefined ? tidy : { ...tidy, description }]
    }),
  )
}

function dropNoise(schema: Schema): Schema {
  const { pattern, minimum, maximum, ...rest } = schema
  return {
    ...rest,
    ...(pattern === undefined || FORMATS.has(schema['format']) ? {} : { pattern }),
    ...(minimum === undefined || minimum === BOUNDS.minimum ? {} : { minimum }),
    ...(maximum === undefined || maximum === BOUNDS.maximum ? {} : { maximum }),
  }
}

/** Writes a choice between a type and null as one schema of two types. */
function mergeNull(schema: Schema): Schema {
  const { anyOf = [], ...rest } = schema
  const [value, nothing] = anyOf
  const type = value?.type
  if (anyOf.length !== 2 || nothing?.type !== 'null' || typeof type !== 'string') return schema
  if (!value || 'const' in value || value.anyOf || value.oneOf) return schema
  return {
    ...value,
    ...rest,
    type: [type, 'null'],
    ...(value.enum ? { enum: [...value.enum, null] } : {}),
  }
}
