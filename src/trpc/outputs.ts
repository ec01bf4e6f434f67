import { z } from 'zod'
import { getField } from '../platform/fields.ts'
import type { RequestContext } from './context.ts'
import type { Select, TimeForm } from './select-output.ts'

type Procedures = { _def: { procedures: object } }
type Call = { type: string; ctx: Pick<RequestContext, 'transport'> }
type Middleware = (call: Call) => Promise<object>

/** Returns the function that converts the results of procedures with this output schema. */
type CreateSelect = (schema: z.ZodType, times: TimeForm) => Select

/**
 * Replaces how the procedures of a router convert their results to what their output schemas declare. It is done by the
 * last middleware, which calls the resolver.
 */
export function replaceOutputs<R extends Procedures>(router: R, createSelect: CreateSelect): R {
  for (const procedure of Object.values(router._def.procedures)) {
    const definition: unknown = typeof procedure === 'function' ? Reflect.get(procedure, '_def') : undefined
    const schema = getField(definition, 'output')
    const middlewares = getField(definition, 'middlewares')
    if (!(schema instanceof z.ZodType) || !Array.isArray(middlewares)) continue
    const others = middlewares.filter((middleware) => Reflect.get(middleware, '_type') !== 'output')
    const last: Middleware = others.pop()
    const resolve = resolvers.get(last) ?? last
    const convert = convertResults(resolve, createSelect(schema, 'date'), createSelect(schema, 'text'))
    resolvers.set(convert, resolve)
    middlewares.splice(0, middlewares.length, ...others, convert)
  }
  return router
}

/** The original resolver by the middleware that converts its results. */
const resolvers = new WeakMap<Middleware, Middleware>()

function convertResults(resolve: Middleware, select: Select, selectAsJson: Select): Middleware {
  return async function convertResult(call) {
    const result = await resolve(call)
    // The result of a mutation may be recorded for its idempotency key, and then be answered in another form.
    const convert = call.type === 'query' && call.ctx.transport === 'rest' ? selectAsJson : select
    return Object.assign(result, { data: convert(getField(result, 'data')) })
  }
}
