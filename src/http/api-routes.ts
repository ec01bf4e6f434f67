import type { Middleware } from 'koa'
import Router, { type RouterMiddleware } from 'koa-router'
import { TransportError } from '../trpc/errors.ts'
import type { Method } from '../trpc/rest.ts'

const VERBS = { GET: 'get', POST: 'post', PUT: 'put', PATCH: 'patch', DELETE: 'delete' } as const

/** Routes below `/api`: a router for each first segment, so that a request is compared with the paths of one of them. */
export class ApiRoutes {
  readonly #routers = new Map<string, Router>()

  /**
   * Adds a route such as `/api/contacts/{contactId}`, whose parameters its middleware finds in `ctx.params`. A path with
   * GET also takes HEAD. Of several routes that match a request the one added first answers.
   */
  add(method: Method, path: `/${string}`, ...middleware: Middleware[]): void {
    const segment = firstSegment(path)
    const router = this.#routers.get(segment) ?? new Router({ sensitive: true, strict: true })
    this.#routers.set(segment, router)
    router[VERBS[method]](toRoute(path), ...middleware)
  }

  /** Answers the requests that a route takes, and those with another method of its path with 405. */
  middleware(): RouterMiddleware {
    const routers = new Map([...this.#routers].map(([segment, router]) => [segment, router.routes()]))
    return function answerRoute(ctx, next) {
      const serve = routers.get(firstSegment(ctx.path))
      return serve ? serve(ctx, () => rejectOtherMethods(ctx, next)) : next()
    }
  }
}

/** Converts `/api/contacts/{contactId}` to the form of the router. */
export function toRoute(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1')
}

function firstSegment(path: string): string {
  return path.split('/', 3)[2] ?? ''
}

const rejectOtherMethods: RouterMiddleware = function rejectOtherMethods(ctx, next) {
  const matched = ctx.matched ?? []
  // A parameter of another path may have the text of this one, such as `accept` as the ID of an invitation.
  const literal = matched.filter(({ path }) => path === ctx.path)
  const routes = literal.length > 0 ? literal : matched
  const allow = [...new Set(routes.flatMap(({ methods }) => methods))].join(', ')
  if (allow === '') return next()
  throw new TransportError('METHOD_NOT_SUPPORTED', { message: `This path takes ${allow}`, headers: { Allow: allow } })
}
