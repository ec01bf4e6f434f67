import { z } from 'zod'
import { getField } from '../platform/get-field.ts'
import type { RequestContext } from './context.ts'
import type { Select, TimeForm } from './select-output.ts'

type Procedures = { _def: { procedures: object } }
/** The mark of tRPC's own middleware for outputs, which is replaced. */
const OUTPUT = 'output'

type Call = { type: string; ctx: Pick<RequestContext, 'times'>; next: () => Promise<object> }
type Middleware = (call: Call) => Promise<object>

/** Returns the function that converts the results of procedures with this output schema. */
type CreateSelect = (schema: z.ZodType, times: TimeForm) => Select

/** Replaces how the procedures of a router convert their results to what their output schemas declare. */
export function replaceOutputs<R extends Procedures>(router: R, createSelect: CreateSelect): R {
  for (const procedure of Object.values(router._def.procedures)) {
    const definition: unknown = typeof procedure === 'function' ? Reflect.get(procedure, '_def') : undefined
    const schema = getField(definition, 'output')
    const middlewares = getField(definition, 'middlewares')
    if (!(schema instanceof z.ZodType) || !Array.isArray(middlewares)) continue
    const index = middlewares.findIndex(isOutputMiddleware)
    if (index < 0) throw new Error('A procedure has an output schema and no middleware for it')
    middlewares[index] = outputMiddleware(createSelect(schema, 'date'), createSelect(schema, 'text'))
  }
  return router
}

function isOutputMiddleware(middleware: unknown): boolean {
  return typeof middleware === 'function' && Reflect.get(middleware, '_type') === OUTPUT
}

function outputMiddleware(select: Select, selectAsJson: Select): Middleware {
  const convertOutput: Middleware = async ({ type, ctx, next }) => {
    const result = await next()
    if (getField(result, 'ok') !== true) return result
    // The result of a mutation may be recorded for its idempotency key, and then be answered in another form.
    const convert = type === 'query' && ctx.times === 'text' ? selectAsJson : select
    return Object.assign(result, { data: convert(getField(result, 'data')) })
  }
  return Object.assign(convertOutput, { _type: OUTPUT })
}
