import type { Context, Middleware } from 'koa'
import type { ApiRoutes } from './api-routes.ts'
import { TRPCError } from '@trpc/server'
import { z } from 'zod'
import type { AppRouter } from '../router.ts'
import type { RequestContext } from '../trpc/context.ts'
import { isMethod, type Method, type ProcedureMeta } from '../trpc/rest.ts'
import { InvalidError } from '../platform/errors.ts'
import { getField } from '../platform/fields.ts'
import { AUTH_BODY_BYTES_MAX, BODY_BYTES_MAX, readJson } from './load/read-body.ts'
import { AUTH_PREFIX, isUnder } from './paths.ts'

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
 * Adds the procedures as REST routes. Each call runs the procedure itself, with its checks in its order; the body is read
 * only when the procedure asks for its input, so the body of an unauthorized caller is never read.
 */
export function addOperations(
  routes: ApiRoutes,
  router: AppRouter,
  contexts: { open: Middleware; get: (ctx: Context) => RequestContext },
): void {
  for (const operation of listOperations(router)) {
    routes.add(operation.method, operation.path, contexts.open, answerOperation(operation, contexts.get))
  }
}

function answerOperation(
  { procedurePath, procedure, method, meta }: Operation,
  getContext: (ctx: Context) => RequestContext,
): Middleware {
  const { type } = procedure._def
  if (type === 'subscription') throw new TypeError('Subscriptions have no REST path')
  const readInput = inputReader(procedure, method)
  return async function answerRest(ctx) {
    const output = await procedure({
      path: procedurePath,
      type,
      ctx: getContext(ctx),
      getRawInput: readInput(ctx),
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
  return (ctx: Context) => {
    let input: Promise<unknown> | undefined
    const read = async () => {
      const query = readQuery(ctx.querystring, fields)
      const body =
        method === 'GET' || method === 'DELETE'
          ? {}
          : await readJson(ctx, isUnder(ctx.path, AUTH_PREFIX) ? AUTH_BODY_BYTES_MAX : BODY_BYTES_MAX)
      return mergeParts([readParams(ctx['params'], fields), query, body], fields)
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

/** Parses the query of a route that is no procedure. @throws TRPCError as a procedure does */
export function parseQuery<Schema extends z.ZodObject>(querystring: string, schema: Schema): z.infer<Schema> {
  const { data, error } = schema.safeParse(readQuery(querystring, schema.shape))
  if (error) throw new TRPCError({ code: 'BAD_REQUEST', cause: error })
  return data
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
