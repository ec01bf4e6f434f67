import { getField } from '../../platform/fields.ts'
import type { Schema } from './document.ts'

/**
 * Makes components of the definitions within a component, which generators of clients do not find there. Rules with `if`
 * are left out, as linters misread them, and defaults, as generators require a field with one, which a stored value need
 * not have. A choice by the value of a field names the component of each value, as generators otherwise take the name of a
 * component for the value.
 */
export function splitComponent({ $defs, ...schema }: Schema, name: string): [name: string, schema: Schema][] {
  if (!isRecord($defs)) return [[name, schema]]
  return Object.entries({ [name]: schema, ...$defs }).map(([part, definition]) => [part, toPart(definition, $defs)])
}

type Schemas = Record<string, Schema>

function toPart(schema: Schema, definitions: Schemas): Schema {
  const entries = Object.entries(schema).flatMap(([keyword, value]) =>
    LEFT_OUT.has(keyword) ? [] : [[keyword, toKeyword(keyword, value, definitions)]],
  )
  return declareFields(nameChoices(Object.fromEntries(entries), definitions))
}

function toKeyword(keyword: string, value: unknown, definitions: Schemas): unknown {
  if (keyword === '$ref' && typeof value === 'string') return value.replace('#/$defs/', COMPONENTS)
  if (PLAIN.has(keyword)) return value
  if (Array.isArray(value)) return value.map((one: unknown) => (isSchema(one) ? toPart(one, definitions) : one))
  if (keyword === 'properties' && isRecord(value)) {
    const fields = Object.entries(value)
    return Object.fromEntries(fields.map(([name, one]) => [name, isSchema(one) ? toPart(one, definitions) : one]))
  }
  return isSchema(value) ? toPart(value, definitions) : value
}

function nameChoices(schema: Schema, definitions: Schemas): Schema {
  const field = getField(schema['discriminator'], 'propertyName')
  if (typeof field !== 'string') return schema
  const mapping = (schema.oneOf ?? []).map(({ $ref = '' }) => [
    definitions[$ref.slice(COMPONENTS.length)]?.properties?.[field]?.['const'],
    $ref,
  ])
  return { ...schema, discriminator: { propertyName: field, mapping: Object.fromEntries(mapping) } }
}

/** Linters reject a rule that requires a field and does not declare it. */
function declareFields(schema: Schema): Schema {
  const { type, required = [], properties = {} } = schema
  if (type !== undefined || required.length === 0) return schema
  const declared = Object.fromEntries(required.map((name) => [name, {}]))
  return { ...schema, properties: { ...declared, ...properties } }
}

const LEFT_OUT = new Set(['if', 'then', 'else', 'default'])
/** Keywords whose values are no schemas. */
const PLAIN = new Set(['const', 'enum', 'examples', 'discriminator', 'dependentRequired'])
const COMPONENTS = '#/components/schemas/'

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null
}

function isRecord(value: unknown): value is Schemas {
  return typeof value === 'object' && value !== null
}
