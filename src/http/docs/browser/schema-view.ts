import type { Schema } from '../../openapi/document.ts'
import { type Child, create, createLazyDetails, toInline } from './elements.ts'

type Schemas = Record<string, Schema>

/** Shows a schema. What it refers to is shown when it is opened, so that a schema may contain itself. */
export function viewSchema(schema: Schema, schemas: Schemas): Child {
  if (schema.$ref !== undefined) return viewComponent(schema.$ref, schemas)
  const parts = [...(schema.allOf ?? []), ...listChoices(schema)]
  const fields = Object.entries(schema.properties ?? {})
  const others = schema.additionalProperties
  return [
    create('p', { class: 'type' }, describeType(schema), describeBounds(schema)),
    listValues(schema),
    fields.length > 0 || others
      ? create(
          'ul',
          { class: 'fields' },
          fields.map(([name, field]) =>
            viewField(name, field, { isRequired: schema.required?.includes(name), schemas }),
          ),
          others ? viewField('any other name', others === true ? {} : others, { schemas }) : undefined,
        )
      : undefined,
    parts.length > 0
      ? [create('p', {}, schema.allOf ? 'All of:' : 'One of:'), ...parts.map((part) => viewPart(part, schemas))]
      : undefined,
    schema.items ? viewPart(schema.items, schemas) : undefined,
  ]
}

function viewComponent(reference: string, schemas: Schemas): Child {
  const name = readName(reference)
  const schema = schemas[name]
  if (!schema) return create('p', { class: 'failure' }, `The document has no schema ${name}`)
  const { description } = schema
  return [description === undefined ? undefined : create('p', {}, toInline(description)), viewSchema(schema, schemas)]
}

type FieldContext = { isRequired?: boolean | undefined; schemas: Schemas }

function viewField(name: string, schema: Schema, { isRequired = false, schemas }: FieldContext): HTMLElement {
  const { description } = schema
  return create(
    'li',
    {},
    create('code', {}, name),
    ' ',
    create('span', { class: 'type' }, describeType(schema), describeBounds(schema)),
    isRequired ? create('span', { class: 'required' }, ' required') : undefined,
    description === undefined ? undefined : create('p', {}, toInline(description)),
    listValues(schema),
    hasParts(schema) ? viewPart(schema, schemas) : undefined,
  )
}

/** Shows a part of a schema as details that can be opened, if there is more to see than its type. */
function viewPart(schema: Schema, schemas: Schemas): Child {
  const choices = listChoices(schema)
  const [only] = choices
  if (schema.items && hasParts(schema.items)) return viewPart(schema.items, schemas)
  if (only && choices.length === 1) return viewPart(only, schemas)
  if (!hasParts(schema)) return create('p', { class: 'type' }, describeType(schema), describeBounds(schema))
  return createLazyDetails(describeType(schema), () => viewSchema(schema, schemas))
}

/** Returns true for a schema that is more than a single value. */
function hasParts(schema: Schema): boolean {
  if (schema.items) return hasParts(schema.items)
  const { $ref, properties, additionalProperties, allOf } = schema
  return (
    [$ref, properties, allOf].some((part) => part !== undefined) ||
    typeof additionalProperties === 'object' ||
    listChoices(schema).some(hasParts)
  )
}

/** Lists the alternatives apart from null. */
function listChoices({ oneOf, anyOf = [] }: Schema): Schema[] {
  return (oneOf ?? anyOf).filter(({ type }) => type !== 'null')
}

const CHOICES_MAX = 4

/** Describes the type of a value in some words, such as `array of Tag` and `string or null`. */
export function describeType(schema: Schema): string {
  // A field with the schema `false` excludes others.
  if (typeof schema === 'boolean') return 'absent'
  const { $ref, type, items, oneOf, anyOf = [], allOf = [] } = schema
  if ($ref !== undefined) return readName($ref)
  if (schema['const'] !== undefined) return JSON.stringify(schema['const'])
  const choices = oneOf ?? anyOf
  if (choices.length > 0 && type === undefined) {
    const names = [...new Set(choices.map(describeType))]
    return names.length > CHOICES_MAX ? `one of ${names.length}` : names.join(' or ')
  }
  const [part] = allOf
  if (part && type === undefined) return describeType(part)
  // A choice without a type names the fields that it needs.
  const { required } = schema
  if (type === undefined && required && required.length > 0) return `with ${required.join(', ')}`
  const names = [type ?? 'any value'].flat()
  return names.map((name) => (name === 'array' && items ? `array of ${describeType(items)}` : name)).join(' or ')
}

const RANGES = [
  ['minimum', 'maximum', ''],
  ['minLength', 'maxLength', ' characters'],
  ['minItems', 'maxItems', ' items'],
  ['minProperties', 'maxProperties', ' fields'],
] as const

/** Describes the bounds, the format and the default of a value; empty without any. */
export function describeBounds(schema: Schema): string {
  const ranges = RANGES.flatMap(([least, most, unit]) => {
    const [from, to] = [schema[least], schema[most]]
    if (from === undefined && to === undefined) return []
    if (from === undefined) return [`at most ${String(to)}${unit}`]
    return [to === undefined ? `at least ${String(from)}${unit}` : `${String(from)} to ${String(to)}${unit}`]
  })
  const { format, pattern } = schema
  const texts = [
    ...(format === undefined ? [] : [String(format)]),
    ...ranges,
    ...(pattern === undefined ? [] : [`pattern ${String(pattern)}`]),
    ...(schema['default'] !== undefined ? [`default ${JSON.stringify(schema['default'])}`] : []),
  ]
  return texts.map((text) => `, ${text}`).join('')
}

/** Shows the values that are allowed, or examples. Codes of errors lead to their explanations. */
export function listValues({ enum: values = [], examples = [], description }: Schema): Child {
  const isList = values.length > 0
  if (!isList && examples.length === 0) return undefined
  const isErrorCode = /page at `docUrl` explains/.test(description ?? '')
  const items = (isList ? values : examples).map((value) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    return isErrorCode && isList
      ? create('a', { href: `/docs/errors#${text}` }, create('code', {}, text))
      : create('code', {}, text)
  })
  return create(
    'p',
    { class: 'values' },
    isList ? 'One of ' : 'Example: ',
    items.flatMap((item, index) => [index > 0 ? ', ' : '', item]),
  )
}

export function readName(reference: string): string {
  return reference.split('/').at(-1) ?? ''
}
