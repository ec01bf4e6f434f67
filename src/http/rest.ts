import type { Context, Middleware } from 'koa'
import { z } from 'zod'
import type { AppRouter } from '../router.ts'
import type { RequestContext } from '../trpc/context.ts'
import { isMethod, type Method, type ProcedureMeta } from '../trpc/rest.ts'
import { InvalidError } from '../platform/errors.ts'
import { getField } from '../platform/get-field.ts'
import { AUTH_BODY_BYTES_MAX, BODY_BYTES_MAX, readJson } from './load/read-body.ts'
import { AUTH_PREFIX, isUnder } from './paths.ts'
import { type Match, RouteTable } from './route-table.ts'
import { TransportError } from '../trpc/errors.ts'

export type Operation = {
  method: Method
  /** The documented form: `/api/contacts/{contactId}`. */
  path: `/${string}`
  procedurePath: string
  procedure: Procedure
  meta: ProcedureMeta
}

export type Procedure = {
  (call: {
    path: string
    type: ProcedureType
    ctx: RequestContext
    getRawInput: () => Promise<unknown>
    input: undefined
    signal: AbortSignal
    batchIndex: number
  }): Promise<unknown>
  _def: { type: ProcedureType; meta?: ProcedureMeta; inputs: unknown[]; output?: unknown }
}

/** The most unknown names of an input that are reported. All inputs are strict, so one is enough to reject it. */
const PROBLEMS_MAX = 100

/** The most parameters of a query, repeated names included. No operation has as many fields. */
const PARAMETERS_MAX = 100

type ProcedureType = 'query' | 'mutation' | 'subscription'
type Fields = Record<string, z.core.$ZodType>

/** Lists the operations that the procedures' metadata declares; subscriptions have none. */
export function listOperations(router: AppRouter): Operation[] {
  return [...listProcedures(router)].flatMap(([procedurePath, procedure]) => {
    const { meta } = procedure._def
    const { method, path } = meta?.openapi ?? {}
    return meta && path && isMethod(method) ? [{ method, path, procedurePath, procedure, meta }] : []
  })
}

/** Lists the procedures of a router by their paths, which tRPC's types describe for clients and not for callers in this process. */
export function listProcedures(router: { _def: { procedures: object } }): ReadonlyMap<string, Procedure> {
  return new Map(Object.entries(router._def.procedures))
}

/**
 * Serves the procedures as REST. Each call runs the procedure itself, with its checks in its order; the body is read
 * only when the procedure asks for its input, so the body of an unauthorized caller is never read.
 */
export function restRoutes(router: AppRouter, getContext: (ctx: Context) => RequestContext) {
  const table = new RouteTable<Answer>()
  for (const operation of listOperations(router)) {
    if (operation.procedure._def.type === 'subscription') continue
    table.add(operation.method, operation.path, answerOperation(operation, getContext))
  }
  /** Matches the path once, and rejects other methods before the session is looked up. */
  const match: Middleware = function matchRoute(ctx, next) {
    const found = table.match(ctx.method, ctx.path)
    if ('target' in found) ctx.state['route'] = found
    else if (found.allowed.length > 0) {
      const allow = found.allowed.join(', ')
      throw new TransportError('METHOD_NOT_SUPPORTED', {
        message: `This path takes ${allow}`,
        headers: { Allow: allow },
      })
    }
    return next()
  }
  const serve: Middleware = function answerRest(ctx, next) {
    const route: Match<Answer> | undefined = ctx.state['route']
    return route ? route.target(ctx, route.params) : next()
  }
  return { match, serve }
}

type Answer = (ctx: Context, params: Record<string, string>) => Promise<void>

function answerOperation(
  { procedurePath, procedure, method, meta }: Operation,
  getContext: (ctx: Context) => RequestContext,
): Answer {
  const { type } = procedure._def
  if (type === 'subscription') throw new TypeError('Subscriptions have no REST path')
  const readInput = inputReader(procedure, method)
  return async (ctx, params) => {
    const output = await procedure({
      path: procedurePath,
      type,
      ctx: getContext(ctx),
      getRawInput: readInput(ctx, params),
      input: undefined,
      signal: abortOnDisconnect(ctx),
      batchIndex: 0,
    })
    if (meta.location) ctx.set('Location', meta.location.replace('{id}', String(getField(output, 'id'))))
    answer(ctx, meta.status ?? 200, output)
  }
}

/** An abort after the answer has been sent would be for nothing, and cost as much as a check of the session. */
export function abortOnDisconnect({ res }: Context): AbortSignal {
  const aborted = new AbortController()
  res.once('close', () => {
    if (!res.writableFinished) aborted.abort()
  })
  return aborted.signal
}

function answer(ctx: Context, status: number, output: unknown): void {
  ctx.status = status
  if (status === 204) {
    ctx.body = null
    return
  }
  ctx.type = 'application/json; charset=utf-8'
  ctx.body = JSON.stringify(output)
}

/** Builds one input object from path, query and body. A name may come from one of them only. */
function inputReader(procedure: Procedure, method: Method) {
  const fields = listInputFields(procedure)
  return (ctx: Context, params: Record<string, string>) => {
    let input: Promise<unknown> | undefined
    const read = async () => {
      const query = readQuery(ctx.querystring, fields)
      const body =
        method === 'GET' || method === 'DELETE'
          ? {}
          : await readJson(ctx, isUnder(ctx.path, AUTH_PREFIX) ? AUTH_BODY_BYTES_MAX : BODY_BYTES_MAX)
      return mergeParts([readParams(params, fields), query, body], fields)
    }
    return () => (input ??= read())
  }
}

/**
 * Merges the parts of an input into plain properties, without running a setter such as that of `__proto__`. Of many
 * unknown names those are kept that the schema reports.
 */
function mergeParts(parts: object[], fields: Fields): Record<string, unknown> {
  const values = new Map<string, unknown>()
  let unknown = 0
  for (const [name, value] of parts.flatMap((part) => Object.entries(part))) {
    if (!Object.hasOwn(fields, name) && (unknown += 1) > PROBLEMS_MAX) continue
    if (values.has(name)) throw new InvalidError(`${name} is given twice`, [{ path: name, message: 'is given twice' }])
    values.set(name, value)
  }
  return Object.fromEntries(values)
}

function listInputFields(procedure: Procedure): Fields {
  const [schema] = procedure._def.inputs
  return schema instanceof z.ZodObject ? schema.shape : {}
}

/**
 * Converts the query to the types of the schema. A text that is no number or boolean stays a text, for the schema to
 * reject; a repeated name becomes a list, which only the schema of a list accepts.
 */
function readQuery(querystring: string, fields: Fields): Record<string, unknown> {
  const entries = new Map<string, unknown[]>()
  const parameters = [...new URLSearchParams(querystring)]
  if (parameters.length > PARAMETERS_MAX)
    throw new InvalidError(`The query has ${parameters.length} parameters. Send at most ${PARAMETERS_MAX}`)
  for (const [name, value] of parameters) {
    const values = entries.get(name) ?? []
    values.push(convert(value, findField(fields, name)))
    entries.set(name, values)
  }
  return Object.fromEntries(
    [...entries].map(([name, values]) => {
      const field = findField(fields, name)
      const isList = field !== undefined && unwrap(field) instanceof z.ZodArray
      return [name, values.length > 1 || isList ? values : values[0]]
    }),
  )
}

function readParams(params: Record<string, string>, fields: Fields): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(params).map(([name, value]) => [name, convert(value, findField(fields, name))]),
  )
}

/** Finds a field of the schema's own, so that a query named `constructor` finds none. */
function findField(fields: Fields, name: string): z.core.$ZodType | undefined {
  return Object.hasOwn(fields, name) ? fields[name] : undefined
}

function convert(value: string, field: z.core.$ZodType | undefined): unknown {
  const type = field && leafType(field)
  if (type === 'number' && /^-?\d{1,15}(\.\d{1,15})?$/.test(value)) return Number(value)
  if (type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true'
  return value
}

function leafType(schema: z.core.$ZodType): string {
  const inner = unwrap(schema)
  return inner instanceof z.ZodArray ? leafType(inner.element) : inner._zod.def.type
}

function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  const isWrapper = schema instanceof z.ZodDefault || schema instanceof z.ZodOptional || schema instanceof z.ZodNullable
  return isWrapper ? unwrap(schema.unwrap()) : schema
}
