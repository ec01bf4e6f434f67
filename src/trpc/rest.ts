import type { OpenApiMeta } from 'trpc-to-openapi'
import type { Tier } from '../platform/rate-limit/tiers.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** What a procedure says of itself beside its schemas: its REST path, its rate tier, its answer's status. */
export type ProcedureMeta = OpenApiMeta & {
  /** The tier paid before the general one. */
  tier?: Exclude<Tier, 'api'>
  /** 200 unless the procedure creates (201), leaves the work for later (202) or leaves nothing to say (204). */
  status?: 200 | 201 | 202 | 204
  /** True where a repeated `Idempotency-Key` must not act twice. Everything that answers 201 does. */
  idempotent?: boolean
  /** A body as it may be sent, where filling in every field would make one that is refused. */
  example?: Readonly<Record<string, unknown>>
}

type Options = Pick<ProcedureMeta, 'tier' | 'status' | 'idempotent' | 'example'> & {
  description?: string
  successDescription?: string
  public?: boolean
}

/** Mounts a procedure at `/api` + `path`. `{names}` in the path are fields of its input. */
export function rest(method: Method, path: `/${string}`, summary: string, options: Options = {}): ProcedureMeta {
  const { tier, status, idempotent, example, description, successDescription, public: isPublic } = options
  const tag = path.split('/')[1] ?? ''
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
    ...(tier ? { tier } : {}),
    ...(status ? { status } : {}),
    ...(example ? { example } : {}),
    ...((idempotent ?? status === 201) ? { idempotent: true } : {}),
  }
}
