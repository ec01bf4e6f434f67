import type { Context } from 'koa'
import Router from 'koa-router'
import { z } from 'zod'
import type { AppRouter } from '../router.ts'
import type { RequestContext } from '../trpc/context.ts'
import type { Method, ProcedureMeta } from '../trpc/rest.ts'
import { InvalidError } from '../platform/errors.ts'
import { readJson } from './read-body.ts'

export type Operation = {
  method: Method
  /** As documented: `/api/contacts/{contactId}`. */
  path: `/${string}`
  procedurePath: string
  meta: ProcedureMeta
}

type Procedure = {
  (call: {
    path: string
    type: 'query' | 'mutation'
    ctx: RequestContext
    getRawInput: () => Promise<unknown>
    input: undefined
    signal: AbortSignal
    batchIndex: 0
  }): Promise<unknown>
  _def: { type: 'query' | 'mutation' | 'subscription'; meta?: ProcedureMeta; inputs: unknown[] }
}

/** The operations the procedures' own metadata declares; subscriptions have none. */
export function listOperations(router: AppRouter): Operation[] {
  return Object.entries(listProcedures(router)).flatMap(([procedurePath, { _def }]) => {
    const openapi = _def.meta?.openapi
    if (!_def.meta || !openapi) return []
    return [{ method: openapi.method as Method, path: openapi.path, procedurePath, meta: _def.meta }]
  })
}

export function listProcedures(router: AppRouter): Record<string, Procedure> {
  return router._def.procedures as unknown as Record<string, Procedure>
}

/**
 * Serves the procedures as REST. Each call runs the procedure itself, with its checks in its order; the body is read
 * only when the procedure asks for its input, so a caller who may not come in is not read.
 */
export function restRoutes(router: AppRouter, openContext: (ctx: Context) => RequestContext): Router {
  // Paths have one spelling: `/API/x` and `/api/x/` are other paths, and nobody's.
  const routes = new Router({ sensitive: true, strict: true })
  const procedures = listProcedures(router)
  for (const { method, path, procedurePath, meta } of listOperations(router)) {
    const procedure = procedures[procedurePath] as Procedure
    const readInput = inputReader(procedure, method)
    routes.register(path.replaceAll(/\{(\w+)\}/g, ':$1'), [method], async (ctx) => {
      const aborted = new AbortController()
      ctx.res.once('close', () => aborted.abort())
      const output = await procedure({
        path: procedurePath,
        type: procedure._def.type as 'query' | 'mutation',
        ctx: openContext(ctx),
        getRawInput: readInput(ctx, ctx.params as Record<string, string>),
        input: undefined,
        signal: aborted.signal,
        batchIndex: 0,
      })
      answer(ctx, meta.status ?? 200, output)
    })
  }
  return routes
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

/** One input object from path, query and body. A name may come from one of them only. */
function inputReader(procedure: Procedure, method: Method) {
  const fields = inputFields(procedure)
  return (ctx: Context, params: Record<string, string>) => {
    let input: Promise<unknown> | undefined
    const read = async () => {
      const query = readQuery(ctx.querystring, fields)
      const body = method === 'GET' || method === 'DELETE' ? {} : await readJson(ctx.req)
      const parts = [readParams(params, fields), query, body]
      const names = parts.flatMap((part) => Object.keys(part))
      const twice = names.find((name, index) => names.indexOf(name) !== index)
      if (twice) throw new InvalidError(`${twice} is given twice`, [{ path: twice, message: 'is given twice' }])
      // Object.assign would run a `__proto__` setter; entries define plain properties.
      return Object.fromEntries(parts.flatMap((part) => Object.entries(part)))
    }
    return () => (input ??= read())
  }
}

function inputFields(procedure: Procedure): Record<string, z.ZodType> {
  const [schema] = procedure._def.inputs
  return schema instanceof z.ZodObject ? (schema.shape as Record<string, z.ZodType>) : {}
}

/**
 * The query as the schema's types. A text that does not spell a number or boolean stays text, for the schema to refuse;
 * a repeated name becomes a list, which only a list's schema takes.
 */
function readQuery(querystring: string, fields: Record<string, z.ZodType>): Record<string, unknown> {
  const entries = new Map<string, unknown[]>()
  for (const [name, value] of new URLSearchParams(querystring)) {
    const type = Object.hasOwn(fields, name) ? leafType(fields[name] as z.ZodType) : 'string'
    entries.set(name, [...(entries.get(name) ?? []), convert(value, type)])
  }
  return Object.fromEntries(
    [...entries].map(([name, values]) => {
      const isList = Object.hasOwn(fields, name) && unwrap(fields[name] as z.ZodType) instanceof z.ZodArray
      return [name, values.length > 1 || isList ? values : values[0]]
    }),
  )
}

function readParams(params: Record<string, string>, fields: Record<string, z.ZodType>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(params).map(([name, value]) => {
      const field = fields[name]
      return [name, field ? convert(value, leafType(field)) : value]
    }),
  )
}

function convert(value: string, type: string): unknown {
  if (type === 'number' && /^-?\d{1,15}(\.\d{1,15})?$/.test(value)) return Number(value)
  if (type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true'
  return value
}

function leafType(schema: z.ZodType): string {
  const inner = unwrap(schema)
  return inner instanceof z.ZodArray ? leafType(inner.element as z.ZodType) : inner.def.type
}

function unwrap(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) {
    return unwrap(schema.unwrap() as z.ZodType)
  }
  return schema
}
