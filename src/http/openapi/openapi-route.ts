import type { Middleware } from 'koa'
import { buildOnce } from '../../platform/concurrency/build-once.ts'
import type { AppRouter } from '../../router.ts'
import { listProcedures } from '../rest.ts'
import { OPENAPI_PATH, POSTMAN_PATH } from '../paths.ts'
import { prepareAnswer, sendAnswer, type StaticAnswer } from '../static-answer.ts'

/** An operation as lists of operations show it. */
export type ListedOperation = {
  id: string
  method: string
  path: string
  summary: string
  tag: string
  /** The kind of the procedure with the name `id`; undefined if clients of tRPC cannot call the operation. */
  procedure: 'query' | 'mutation' | 'subscription' | undefined
}

export type OpenApi = {
  answer: StaticAnswer
  /** The same as a collection of Postman. */
  postman: StaticAnswer
  tags: { name: string; description: string }[]
  /** In the order of the document. */
  operations: ListedOperation[]
  /** The events of webhooks, whose method and path are those of the receiver. */
  events: Pick<ListedOperation, 'id' | 'summary'>[]
}

const JSON_TYPE = 'application/json; charset=utf-8'

/** Returns a function that builds the OpenAPI document on the first call, with libraries that are loaded then. */
export function openApiSource(router: AppRouter): () => Promise<OpenApi> {
  return buildOnce(() => build(router))
}

/** Serves the OpenAPI document and the collection of Postman. */
export function openapiRoute(readOpenApi: () => Promise<OpenApi>): Middleware {
  return async function answerOpenapi(ctx, next) {
    const isServed = ctx.path === OPENAPI_PATH || ctx.path === POSTMAN_PATH
    if (!isServed || (ctx.method !== 'GET' && ctx.method !== 'HEAD')) return next()
    const { answer, postman } = await readOpenApi()
    sendAnswer(ctx, ctx.path === OPENAPI_PATH ? answer : postman)
  }
}

async function build(router: AppRouter): Promise<OpenApi> {
  const [{ buildOpenApi }, { toPostmanCollection }] = await Promise.all([
    import('./build-openapi.ts'),
    import('./postman.ts'),
  ])
  const document = await buildOpenApi(router)
  const procedures = listProcedures(router)
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([
        method,
        {
          operationId: id,
          summary,
          tags: [tag = ''],
        },
      ]) => {
        return { id, method, path, summary, tag, procedure: procedures.get(id)?._def.type }
      },
    ),
  )
  const events = Object.values(document.webhooks ?? {}).map(({ post }) => ({
    id: post.operationId,
    summary: post.summary,
  }))
  const answer = await prepareAnswer(JSON_TYPE, JSON.stringify(document))
  const postman = await prepareAnswer(JSON_TYPE, JSON.stringify(toPostmanCollection(document)))
  return { answer, postman, tags: document.tags, operations, events }
}
