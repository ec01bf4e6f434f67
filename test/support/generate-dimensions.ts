import { z } from 'zod'
import type { Operation } from '../../src/http/rest.ts'
import { AUTH_BODY_BYTES_MAX, BODY_BYTES_MAX } from '../../src/http/load/read-body.ts'
import { newId } from '../../src/platform/ids.ts'
import type { TestApp, TestSession } from './app.ts'
import { countWithin, type Dimension, prepareRequest } from './cost-dimensions.ts'

/** The JSON Schema keywords that decide what can grow. */
type Schema = {
  type?: string
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: Schema | boolean
  items?: Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
  enum?: unknown[]
  const?: unknown
  format?: string
  minimum?: number
  maxLength?: number
  maxItems?: number
}

type Input = Record<string, unknown>

/** A part of an input: `build` puts another value in its place. */
type Growth = { name: string; max: number; build: (size: number) => unknown }

/** Bytes for the rest of the request. */
const MARGIN = 4096
/** Node.js rejects larger heads of requests. */
const QUERY_BYTES_MAX = 12 * 1024
/** Texts of fewer characters cost less than can be measured. */
const LONG_TEXT = 1000
/** Texts that cost a careless pattern or parser more than their length. */
const FILLINGS = [' ', '{{', '<', '.1']
const DEPTH_MAX = 5

/** Lists the ways in which the input of an operation can grow, found by its schema. */
export function generateDimensions(
  app: TestApp,
  session: TestSession,
  { method, path, procedure }: Operation,
  input: Input,
): Dimension[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '')
  const url = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(input[name]))
  const base = Object.fromEntries(Object.entries(input).filter(([name]) => !inPath.includes(name)))
  const schema = inputSchema(procedure._def.inputs[0], inPath)
  const byQuery = (pairs: [string, string][]) =>
    prepareRequest(app, { method, path: `${url}?${new URLSearchParams(pairs)}` }, session)
  const names: Dimension[] = [
    { name: 'names in the query', max: countWithin(QUERY_BYTES_MAX, 'a12'), prepare: (size) => byQuery(toNames(size)) },
    {
      name: 'repetitions of a name in the query',
      max: QUERY_BYTES_MAX / 3,
      prepare: (size) => byQuery(Array.from({ length: size }, () => ['a', ''])),
    },
  ]
  if (method === 'GET' || method === 'DELETE') {
    const texts = Object.entries(schema.properties ?? {}).filter(([, field]) => isText(field))
    return [...names, ...texts.flatMap(([name, field]) => growQueryText(name, field, byQuery))]
  }
  const bytesMax = (path.startsWith('/api/auth/') ? AUTH_BODY_BYTES_MAX : BODY_BYTES_MAX) - MARGIN
  const growths = [
    {
      name: 'names in the body',
      max: Math.floor(bytesMax / 11),
      build: (size: number) => ({ ...base, ...manyNames(size) }),
    },
    ...listGrowths(schema, { base, name: '', bytesMax, depth: 0, wrap: (value) => value }),
  ]
  return [
    ...names,
    ...growths.map(({ name, max, build }) => ({
      name,
      max,
      prepare: (size: number) => prepareRequest(app, { method, path: url, body: JSON.stringify(build(size)) }, session),
    })),
  ]
}

function inputSchema(schema: unknown, inPath: string[]): Schema {
  if (!(schema instanceof z.ZodType)) return {}
  const { properties = {}, ...rest } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    reused: 'inline',
  }) as Schema
  return {
    ...rest,
    properties: Object.fromEntries(Object.entries(properties).filter(([name]) => !inPath.includes(name))),
  }
}

function growQueryText(
  name: string,
  { maxLength = QUERY_BYTES_MAX }: Schema,
  byQuery: (pairs: [string, string][]) => ReturnType<typeof prepareRequest>,
): Dimension[] {
  if (maxLength < LONG_TEXT) return []
  return FILLINGS.map((filling) => ({
    name: `length of ${name} in the query, of ${JSON.stringify(filling)}`,
    max: Math.min(maxLength, QUERY_BYTES_MAX / 9),
    prepare: (size) => byQuery([[name, fill(filling, size)]]),
  }))
}

type Place = {
  base: unknown
  name: string
  bytesMax: number
  depth: number
  wrap: (value: unknown) => unknown
}

/** Lists what can grow in a value of the schema: its entries, its names, its text, and the same of its parts. */
function listGrowths(schema: Schema, place: Place): Growth[] {
  const { base, name, bytesMax, depth, wrap } = place
  if (depth > DEPTH_MAX) return []
  const choices = (schema.anyOf ?? schema.oneOf ?? []).filter((choice) => !isRule(choice))
  if (choices.length > 0) return choices.flatMap((choice) => listGrowths(choice, place))
  if (schema.enum || schema.const !== undefined || schema.format) return []
  const within = (part: string, child: Omit<Place, 'name' | 'bytesMax' | 'depth'>): Place => ({
    ...child,
    name: name ? `${name}.${part}` : part,
    bytesMax,
    depth: depth + 1,
  })
  if (schema.items) {
    const { items, maxItems } = schema
    const entry = (index: number) => sample(items, name, index)
    const fitting = countWithin(bytesMax, entry(0))
    const build = (size: number) => wrap(Array.from({ length: size }, (_, index) => entry(index)))
    return [
      ...(maxItems && maxItems < fitting ? [{ name: `items of ${name}`, max: maxItems, build }] : []),
      { name: `items of ${name}, as many as fit`, max: fitting, build },
      ...listGrowths(
        items,
        within('0', { base: Array.isArray(base) ? base[0] : undefined, wrap: (value) => wrap([value]) }),
      ),
    ]
  }
  if (typeof schema.additionalProperties === 'object' && Object.keys(schema.properties ?? {}).length === 0) {
    const values = schema.additionalProperties
    const build = (size: number) =>
      wrap(Object.fromEntries(Array.from({ length: size }, (_, index) => [`a${index}`, sample(values, name, index)])))
    const max = Math.floor(bytesMax / (JSON.stringify(sample(values, name, 0) ?? 0).length + 10))
    return [
      { name: `names of ${name}`, max, build },
      ...listGrowths(values, within('a0', { base: undefined, wrap: (value) => wrap({ a0: value }) })),
    ]
  }
  if (schema.properties) {
    const object = isObject(base) ? base : (sample(schema, name, 0) as Input)
    return Object.entries(schema.properties).flatMap(([field, value]) =>
      listGrowths(value, within(field, { base: object[field], wrap: (part) => wrap({ ...object, [field]: part }) })),
    )
  }
  if (schema.type === 'string') return listTextGrowths(schema, place)
  return schema.type === undefined ? listAnyGrowths(place) : []
}

function listTextGrowths({ maxLength }: Schema, { name, bytesMax, wrap }: Place): Growth[] {
  const texts = (max: number, label: string) =>
    FILLINGS.map((filling) => ({
      name: `length of ${name}${label}, of ${JSON.stringify(filling)}`,
      max: Math.min(max, Math.floor(bytesMax / 4)),
      build: (size: number) => wrap(fill(filling, size)),
    }))
  return maxLength !== undefined && maxLength < LONG_TEXT ? [] : texts(maxLength ?? bytesMax, '')
}

/** A place that takes any JSON. */
function listAnyGrowths({ name, bytesMax, wrap }: Place): Growth[] {
  return [
    { name: `names of any value at ${name}`, max: Math.floor(bytesMax / 11), build: (size) => wrap(manyNames(size)) },
    {
      name: `items of any value at ${name}`,
      max: 90_000,
      build: (size) => wrap(Array.from({ length: size }, () => 0)),
    },
    { name: `length of any value at ${name}`, max: bytesMax, build: (size) => wrap('a'.repeat(size)) },
  ]
}

/** A choice that only names fields of the object, whose own schema describes them. */
function isRule({ type, required, properties }: Schema): boolean {
  return type === undefined && (required !== undefined || properties !== undefined)
}

function sample(schema: Schema, name: string, index: number): unknown {
  const choice = (schema.anyOf ?? schema.oneOf)?.[0]
  if (choice && !isRule(choice)) return sample(choice, name, index)
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return schema.enum[index % schema.enum.length]
  if (schema.items) return []
  if (schema.properties) {
    const { properties } = schema
    const required = new Set([...(schema.required ?? []), ...(choice?.required ?? [])])
    return Object.fromEntries([...required].map((field) => [field, sample(properties[field] ?? {}, field, index)]))
  }
  if (schema.type === 'string') return sampleText(schema, name, index)
  if (schema.type === 'integer' || schema.type === 'number') return schema.minimum ?? 1
  if (schema.type === 'object') return {}
  return schema.type === 'boolean' ? true : index
}

function sampleText({ format }: Schema, name: string, index: number): string {
  if (format === 'uuid') return newId()
  if (format === 'date-time') return '2026-03-02T10:00:00.000Z'
  if (name === 'phone') return `+4917013${String(index).padStart(6, '0')}`
  return `t${index}`
}

function fill(filling: string, size: number): string {
  return filling.repeat(Math.ceil(size / filling.length)).slice(0, size)
}

function manyNames(size: number): Input {
  return Object.fromEntries(toNames(size).map(([name]) => [name, 0]))
}

function toNames(size: number): [string, string][] {
  return Array.from({ length: size }, (_, index) => [`n${index.toString(36)}`, ''])
}

function isText({ type, enum: values, format }: Schema): boolean {
  return type === 'string' && !values && !format
}

function isObject(value: unknown): value is Input {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
