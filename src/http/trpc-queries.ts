import type { Context } from 'koa'
import { getField } from '../platform/fields.ts'
import { parseJson } from '../platform/parse-json.ts'
import type { AppRouter } from '../router.ts'
import type { RequestContext } from '../trpc/context.ts'
import { mergeErrorHeaders, type PublicError, toErrorShape, toPublicError } from '../trpc/errors.ts'
import { transformer } from '../trpc/transformer.ts'
import { abortOnDisconnect, listProcedures, type Procedure } from './rest.ts'

type Query = { path: string; procedure: Procedure; input: unknown }
type Queries = { calls: Query[]; isBatch: boolean }
type Result = { result: { data: unknown } } | { error: unknown; failure: PublicError }

/**
 * Answers well-formed queries with the bodies and headers of tRPC's adapter, without the objects of the fetch API that it
 * creates for each request. The adapter answers everything else.
 */
export class TrpcQueries {
  readonly #procedures: ReadonlyMap<string, Procedure>

  constructor(router: AppRouter) {
    this.#procedures = new Map([...listProcedures(router)].filter(([, procedure]) => procedure._def.type === 'query'))
  }

  /** Returns the queries of a request; undefined if the adapter has to answer it. */
  parse(ctx: Context, names: string[], batchMax: number): Queries | undefined {
    if (ctx.method !== 'GET') return undefined
    const search = new URLSearchParams(ctx.querystring)
    const isBatch = search.get('batch') === '1'
    if (names.length > (isBatch ? batchMax : 1) || search.has('connectionParams')) return undefined
    const text = search.get('input')
    const input = text === null ? {} : parseJson(text)
    if (typeof input !== 'object' || input === null || Array.isArray(input)) return undefined
    const calls: Query[] = []
    for (const [index, path] of names.entries()) {
      const procedure = this.#procedures.get(path)
      if (!procedure) return undefined
      const single = text === null ? undefined : input
      calls.push({ path, procedure, input: isBatch ? getField(input, String(index)) : single })
    }
    return { calls, isBatch }
  }

  async answer(ctx: Context, { calls, isBatch }: Queries, context: RequestContext): Promise<void> {
    const signal = abortOnDisconnect(ctx)
    const results = await Promise.all(calls.map((call, index) => execute(call, { context, signal, index })))
    const failures = results.flatMap((result) => ('failure' in result ? [result.failure] : []))
    const statuses = new Set(results.map((result) => ('failure' in result ? result.failure.status : 200)))
    const [status = 200, ...others] = statuses
    ctx.set(mergeErrorHeaders(failures))
    ctx.status = others.length > 0 ? MULTI_STATUS : status
    ctx.set('Vary', 'trpc-accept, accept, Origin')
    ctx.set('Content-Type', 'application/json')
    const bodies = results.map((result) => ('failure' in result ? { error: result.error } : result))
    ctx.body = JSON.stringify(isBatch ? bodies : bodies[0])
  }
}

const MULTI_STATUS = 207

type Execution = { context: RequestContext; signal: AbortSignal; index: number }

async function execute({ path, procedure, input }: Query, { context, signal, index }: Execution): Promise<Result> {
  const getRawInput = async () => (input === undefined ? undefined : transformer.input.deserialize(input))
  try {
    const call = {
      path,
      type: 'query',
      ctx: context,
      getRawInput,
      input: undefined,
      signal,
      batchIndex: index,
    } as const
    return { result: { data: transformer.output.serialize(await procedure(call)) } }
  } catch (error) {
    const failure = toPublicError(error, context.requestId)
    return { error: transformer.output.serialize(toErrorShape(failure, path)), failure }
  }
}
