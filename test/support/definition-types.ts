import { format } from 'prettier'
import packageJson from '../../package.json' with { type: 'json' }
import { definitionSchema } from '../../src/features/workflows/definition-schema.ts'
import { groupBy } from '../../src/platform/group-by.ts'

/** The keywords of JSON Schema that the schema of definitions uses for more than the values of one field. */
type Schema = {
  $ref?: string
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  properties?: Record<string, Schema | false>
  required?: string[]
  additionalProperties?: Schema | boolean
  minProperties?: number
  maxProperties?: number
  items?: Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
  default?: unknown
  if?: Schema
  else?: Schema
  description?: string
}

/** A way to fill in an object: fields that it must have, that it must not have, and that have certain values only. */
type Form = { required: string[]; absent: string[]; values: Record<string, unknown[]> }

const HEADER = `/*
 * The types of definitions, as the schemas of the steps, triggers and conditions accept them. A test writes this file from
 * the JSON Schema of definitions: WRITE_TYPES=1 npx mocha test/unit/engine/definition-types.test.ts
 */

/** Returns the definition unchanged. The type checker finds mistakes in it, and editors complete its fields. */
export function defineWorkflow(definition: WorkflowDefinition): WorkflowDefinition {
  return definition
}
`

/** Returns the source of the types of definitions. */
export async function renderDefinitionTypes(): Promise<string> {
  const { $defs = {}, ...definition } = definitionSchema() as Schema & { $defs?: Record<string, Schema> }
  const schemas = { definition, ...$defs }
  const shared = shareCommonFields(schemas)
  const types = new TypeNames(Object.values(schemas))
  for (const [name, schema] of Object.entries(schemas)) {
    const fields = name.startsWith('step_') ? Object.keys(shared.properties ?? {}) : []
    const type = types.render(omitFields(schema, fields))
    types.add(toTypeName(name), fields.length > 0 ? `StepFields & ${type}` : type, schema.description)
  }
  types.add('StepFields', types.render(shared), 'Fields of every step')
  return format(`${HEADER}\n${types.source()}`, { parser: 'typescript', ...(packageJson.prettier as object) })
}

/** The names of types, and their source. An object that occurs several times, or has several forms, has a name. */
class TypeNames {
  readonly #sources = new Map<string, string>()
  readonly #names = new Map<string, string>()
  readonly #repeated: Set<string>

  constructor(schemas: Schema[]) {
    const objects = schemas.flatMap(listObjects).map(toKey)
    const repeated = [...groupBy(objects, (text) => text)].filter(([, same]) => same.length > 1)
    this.#repeated = new Set(repeated.map(([text]) => text))
  }

  add(name: string, type: string, description?: string): void {
    const isExported = PUBLIC.has(name)
    this.#sources.set(name, `${renderDocs(description)}${isExported ? 'export ' : ''}type ${name} = ${type}\n`)
  }

  source(): string {
    return [...this.#sources.values()].join('\n')
  }

  /** `field` is the name of the field that has the type; without it the type is rendered in place. */
  render(schema: Schema | boolean, field?: string): string {
    if (typeof schema === 'boolean') return schema ? 'unknown' : 'never'
    const { $ref, type, enum: values, items, properties } = schema
    if ($ref !== undefined) return toTypeName($ref.split('/').at(-1) ?? '')
    if ('const' in schema) return JSON.stringify(schema.const)
    if (values) return renderValues(values)
    if (properties) return field === undefined ? this.#renderObject(schema) : this.#renderNamed(schema, field)
    if (type === 'object') return `{ [name: string]: ${this.render(schema.additionalProperties ?? {}, field)} }`
    if (type === 'array') return `Array<${this.render(items ?? {}, field)}>`
    if (type !== undefined) return [type].flat().map(toPrimitive).join(' | ')
    const variants = schema.anyOf ?? schema.oneOf
    return variants ? variants.map((variant) => this.render(variant, field)).join(' | ') : 'unknown'
  }

  #renderNamed(schema: Schema, field: string): string {
    const text = toKey(schema)
    const known = this.#names.get(text)
    if (known !== undefined) return known
    const type = this.#renderObject(schema)
    if (!this.#repeated.has(text) && listForms(schema).length === 0) return type
    const name = [toTypeName(field), `${toTypeName(field)}Choice`].find((one) => !this.#sources.has(one))
    if (name === undefined) throw new Error(`A third type would be named after the field ${field}`)
    this.#names.set(text, name)
    this.add(name, type)
    return name
  }

  #renderObject(schema: Schema): string {
    const forms = listForms(schema)
    const fields = Object.keys(schema.properties ?? {})
    const varying = fields.filter((name) =>
      forms.some(({ required, absent, values }) => [...required, ...absent, ...Object.keys(values)].includes(name)),
    )
    const common = this.#renderFields(omitFields(schema, varying))
    if (forms.length === 0) return common
    const union = forms.map((form) =>
      this.#renderFields(
        omitFields(
          schema,
          fields.filter((f) => !varying.includes(f)),
        ),
        form,
      ),
    )
    const variants = `(${union.join(' | ')})`
    return varying.length === fields.length ? variants : `${common} & ${variants}`
  }

  #renderFields({ properties = {}, required: always = [] }: Schema, form?: Form): string {
    const fields = Object.entries(properties).map(([name, field]) => {
      if (form?.absent.includes(name)) return `${name}?: never`
      const values = form?.values[name]
      const type = values ? renderValues(values) : this.render(field, name)
      const isRequired = [...always, ...(form?.required ?? [])].includes(name)
      return `${renderDocs(field === false ? undefined : field.description)}${name}${isRequired ? '' : '?'}: ${type}`
    })
    return `{\n${fields.join('\n')}\n}`
  }
}

const PUBLIC = new Set(['WorkflowDefinition', 'Trigger', 'Step', 'Condition'])

/** Lists the forms of an object, none if all of its fields are independent of each other. */
function listForms(schema: Schema): Form[] {
  const { properties = {}, oneOf, anyOf, minProperties, maxProperties } = schema
  if (minProperties === 1 && maxProperties === 1)
    return exclude(Object.keys(properties).map((name) => toForm({ required: [name] })))
  if (oneOf) return exclude(oneOf.flatMap((variant) => splitForm(schema, variant)))
  if (anyOf) return anyOf.map((variant) => toForm(variant))
  return schema.if?.properties && schema.else?.required ? splitForm(schema, schema) : []
}

/** Splits a form in which a field is required unless another has one of some values. */
function splitForm({ properties = {} }: Schema, variant: Schema): (Form & { optional?: string[] })[] {
  const [[name, condition] = []] = Object.entries(variant.if?.properties ?? {})
  const field = name === undefined ? undefined : properties[name]
  if (name === undefined || !condition || !field || !variant.else?.required) return [toForm(variant)]
  const values = condition.enum ?? [condition.const]
  const others = (field.enum ?? []).filter((value) => !values.includes(value))
  const form = toForm(variant)
  return [
    { ...form, values: { [name]: values }, optional: variant.else.required },
    { ...form, values: { [name]: others }, required: [...form.required, ...variant.else.required] },
  ]
}

function toForm({ required = [], properties = {} }: Schema): Form {
  const absent = Object.entries(properties).flatMap(([name, field]) => (field === false ? [name] : []))
  return { required, absent, values: {} }
}

/** Excludes from each form the fields of the others. */
function exclude(forms: (Form & { optional?: string[] })[]): Form[] {
  const names = [...new Set(forms.flatMap(({ required }) => required))]
  return forms.map((form) => {
    const own = [...form.required, ...(form.optional ?? [])]
    return { ...form, absent: names.filter((name) => !own.includes(name)) }
  })
}

/** Returns the fields that all steps have, with the same schema. */
function shareCommonFields(schemas: Record<string, Schema>): Schema {
  const steps = Object.entries(schemas).flatMap(([name, schema]) => (name.startsWith('step_') ? [schema] : []))
  const [first] = steps
  const names = Object.keys(first?.properties ?? {}).filter((name) =>
    steps.every(({ properties }) => JSON.stringify(properties?.[name]) === JSON.stringify(first?.properties?.[name])),
  )
  const others = Object.keys(first?.properties ?? {}).filter((name) => !names.includes(name))
  return omitFields({ ...first }, others)
}

function omitFields(schema: Schema, names: readonly string[]): Schema {
  const { properties, required = [] } = schema
  if (!properties) return schema
  const fields = Object.entries(properties).filter(([name]) => !names.includes(name))
  return {
    ...schema,
    properties: Object.fromEntries(fields),
    required: required.filter((name) => !names.includes(name)),
  }
}

/** Returns what the type of an object depends on, which is not the description of the field that has it. */
function toKey(schema: Schema): string {
  return JSON.stringify({ ...schema, description: undefined, default: undefined })
}

/** Lists the objects within a schema, at any depth. */
function listObjects(schema: Schema | boolean): Schema[] {
  if (typeof schema === 'boolean') return []
  const { properties = {}, items, additionalProperties, anyOf = [] } = schema
  const inner = [...Object.values(properties), items ?? false, additionalProperties ?? false, ...anyOf]
  return [...(schema.properties ? [schema] : []), ...inner.flatMap(listObjects)]
}

/** `step_send_message` is SendMessageStep, `trigger_event` EventTrigger, `Step` Step, and the field `ifWindowClosed` IfWindowClosed. */
function toTypeName(name: string): string {
  if (name === 'definition') return 'WorkflowDefinition'
  const [, kind = '', type = name] = /^(step|trigger)_(.*)$/.exec(name) ?? []
  return [...type.split('_'), kind].map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join('')
}

function renderValues(values: readonly unknown[]): string {
  return values.map((value) => JSON.stringify(value)).join(' | ')
}

function toPrimitive(type: string): string {
  return type === 'integer' ? 'number' : type
}

function renderDocs(description: string | undefined): string {
  return description === undefined ? '' : `/** ${description.replaceAll('*/', '*\\/')} */\n`
}
