import { z } from 'zod'
import { getField } from '../platform/get-field.ts'
import type { Select } from './select-output.ts'

type Procedures = { _def: { procedures: object } }
/** The mark of tRPC's own middleware for outputs, which is replaced. */
const OUTPUT = 'output'

type Middleware = (call: { next: () => Promise<object> }) => Promise<object>

/** Replaces how the procedures of a router convert their results to what their output schemas declare. */
export function replaceOutputs<R extends Procedures>(router: R, createSelect: (schema: z.ZodType) => Select): R {
  for (const procedure of Object.values(router._def.procedures)) {
    const definition: unknown = typeof procedure === 'function' ? Reflect.get(procedure, '_def') : undefined
    const schema = getField(definition, 'output')
    const middlewares = getField(definition, 'middlewares')
    if (!(schema instanceof z.ZodType) || !Array.isArray(middlewares)) continue
    const index = middlewares.findIndex(isOutputMiddleware)
    if (index < 0) throw new Error('A procedure has an output schema and no middleware for it')
    middlewares[index] = outputMiddleware(createSelect(schema))
  }
  return router
}

function isOutputMiddleware(middleware: unknown): boolean {
  return typeof middleware === 'function' && Reflect.get(middleware, '_type') === OUTPUT
}

function outputMiddleware(select: Select): Middleware {
  const convertOutput: Middleware = async ({ next }) => {
    const result = await next()
    return getField(result, 'ok') === true ? Object.assign(result, { data: select(getField(result, 'data')) }) : result
  }
  return Object.assign(convertOutput, { _type: OUTPUT })
}
