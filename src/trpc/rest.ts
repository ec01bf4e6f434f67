import type { OpenApiMeta } from 'trpc-to-openapi'
import type { Tier } from '../platform/rate-limit/rate-limits.ts'
import type { Role } from '../scope/dependencies.ts'
import { type ApiScope, toApiScope } from './api-scopes.ts'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
export type Method = (typeof METHODS)[number]

export function isMethod(text: unknown): text is Method {
  return METHODS.some((method) => method === text)
}

/** The metadata of a procedure: its REST path, its rate limit tier and the status of its answer. */
export type ProcedureMeta = OpenApiMeta & {
  /** The role that members need at least. Without one everybody may call it. */
  role?: Role
  /** The scope that API keys need for it. Without one it is for people only. */
  scope?: ApiScope
  /** The rate limit tier charged before the general one. */
  tier?: Exclude<Tier, 'api' | 'webhookRejected'>
  /** 200 unless the procedure creates a resource (201), works in the background (202) or returns nothing (204). */
  status?: 200 | 201 | 202 | 204
  /** True for a procedure that needs a session and no workspace. */
  withoutWorkspace?: true
  /**
   * Set if the procedure accepts an `Idempotency-Key`. All that answer 201 in a workspace do unless it is false, for an answer
   * that must not be stored. With `commit` it uses `ctx.once`, as it waits for something other than the database before its
   * changes.
   */
  idempotent?: boolean | 'commit'
  /** The action of its audit events, if it is an alias of another operation. */
  action?: string
  /** The reason why the calls of a mutation are not audited. Without one they are. */
  unaudited?: string
  /** True if it calls a provider, whose failure is answered 502. */
  callsProvider?: boolean
  /** True for a 404 that neither a path parameter nor the input causes. */
  canBeMissing?: boolean
  /** Path of the created resource for the header `Location`; `{id}` is the ID in the answer. */
  location?: `/api/${string}`
  /** An example body, where a body with every field set would be invalid. */
  example?: Readonly<Record<string, unknown>>
}

type Options = Pick<
  ProcedureMeta,
  | 'tier'
  | 'status'
  | 'withoutWorkspace'
  | 'idempotent'
  | 'action'
  | 'unaudited'
  | 'canBeMissing'
  | 'callsProvider'
  | 'location'
  | 'example'
> & {
  /** Null for people only. */
  scope?: ApiScope | null
  description?: string
  successDescription?: string
  public?: boolean
}

const ACTIONS = { GET: 'read', POST: 'write', PUT: 'write', PATCH: 'write', DELETE: 'delete' } as const

/**
 * Mounts a procedure at `/api` + `path`. `{names}` in the path are fields of its input. Unless another scope is given,
 * API keys need that of the first part of the path and the method, such as `contacts:read`.
 */
export function rest(method: Method, path: `/${string}`, summary: string, options: Options = {}): ProcedureMeta {
  const { tier, status, withoutWorkspace, idempotent, canBeMissing, callsProvider, location, example } = options
  const { action, unaudited, description, successDescription, public: isPublic } = options
  const tag = path.split('/')[1] ?? ''
  const isOfWorkspace = !isPublic && !withoutWorkspace
  const { scope = isOfWorkspace ? toApiScope(`${tag}:${ACTIONS[method]}`) : null } = options
  return {
    openapi: {
      method,
      path: `/api${path}`,
      summary,
      tags: [tag],
      protect: !isPublic,
      ...(description ? { description } : {}),
      ...(successDescription ? { successDescription } : {}),
    },
    ...(scope ? { scope } : {}),
    ...(tier ? { tier } : {}),
    ...(status ? { status } : {}),
    ...(withoutWorkspace ? { withoutWorkspace } : {}),
    ...(action === undefined ? {} : { action }),
    ...(unaudited === undefined ? {} : { unaudited }),
    ...(canBeMissing ? { canBeMissing } : {}),
    ...(callsProvider ? { callsProvider } : {}),
    ...(location ? { location } : {}),
    ...(example ? { example } : {}),
    ...(idempotent || (status === 201 && !withoutWorkspace && idempotent !== false)
      ? { idempotent: idempotent ?? true }
      : {}),
  }
}
