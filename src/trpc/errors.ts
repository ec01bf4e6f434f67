import { TRPCError } from '@trpc/server'
import type { TRPC_ERROR_CODE_KEY } from '@trpc/server/rpc'
import { ZodError } from 'zod'
import { sqlState } from '../platform/database/database.ts'
import {
  AppError,
  ConflictError,
  ForbiddenError,
  InvalidError,
  LimitExceededError,
  NotFoundError,
  UnauthorizedError,
  UnavailableError,
  UnprocessableError,
} from '../platform/errors.ts'

/** What a caller is told, whichever way the procedure was reached. */
export type PublicError = {
  status: number
  body: { error: string; code?: string; details?: unknown }
  retryAfterSeconds?: number
}

const KINDS = [
  [InvalidError, 'BAD_REQUEST'],
  [UnauthorizedError, 'UNAUTHORIZED'],
  [ForbiddenError, 'FORBIDDEN'],
  [NotFoundError, 'NOT_FOUND'],
  [ConflictError, 'CONFLICT'],
  [UnprocessableError, 'UNPROCESSABLE_CONTENT'],
  [LimitExceededError, 'TOO_MANY_REQUESTS'],
  [UnavailableError, 'SERVICE_UNAVAILABLE'],
] as const satisfies readonly (readonly [unknown, TRPC_ERROR_CODE_KEY])[]

const STATUS: Partial<Record<TRPC_ERROR_CODE_KEY, number>> = {
  PARSE_ERROR: 400,
  BAD_REQUEST: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  METHOD_NOT_SUPPORTED: 405,
  CONFLICT: 409,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  UNPROCESSABLE_CONTENT: 422,
  TOO_MANY_REQUESTS: 429,
  SERVICE_UNAVAILABLE: 503,
}

/** The only place where a rule's refusal becomes a tRPC error. */
export function toTrpcError(error: unknown): TRPCError {
  if (error instanceof TRPCError) return error.cause instanceof AppError ? toTrpcError(error.cause) : error
  const kind = KINDS.find(([type]) => error instanceof type)
  // What is of no kind is the transport's own refusal, thrown while it read the input; it knows its status itself.
  if (error instanceof AppError)
    return new TRPCError({ code: kind?.[1] ?? 'BAD_REQUEST', message: error.message, cause: error })
  if (isUnstorableText(error))
    return toTrpcError(
      new InvalidError('A text contains characters that cannot be stored', undefined, undefined, { cause: error }),
    )
  return new TRPCError({ code: 'INTERNAL_SERVER_ERROR', cause: error })
}

/** Text Postgres refuses: NUL, or a lone surrogate inside JSON. Schemas refuse it first; this is the second net. */
function isUnstorableText(error: unknown): boolean {
  return ['22021', '22P05'].includes(sqlState(error) ?? '')
}

/** 401 and 403 carry one fixed word, whatever was wrong; what we did not foresee says nothing of itself. */
export function publicError(thrown: unknown, requestId: string): PublicError {
  const error = toTrpcError(thrown)
  const status = STATUS[error.code] ?? 500
  if (status === 500) {
    return {
      status,
      body: {
        error: `Something went wrong on our side. Quote request id ${requestId} when you report it.`,
        code: 'internal',
      },
    }
  }
  const { cause } = error
  if (cause instanceof AppError) return appErrorBody(status, cause)
  if (cause instanceof ZodError) return { status, body: inputErrorBody(cause) }
  return { status, body: { error: transportSentence(error), code: transportCode(error.code) } }
}

function appErrorBody(status: number, error: AppError): PublicError {
  const bare = ['unauthorized', 'forbidden', 'rate_limited'].includes(error.code)
  const body = bare ? { error: error.message } : { error: error.message, code: error.code }
  const details = error.details === undefined ? {} : { details: error.details }
  const retry = 'retryAfterSeconds' in error ? { retryAfterSeconds: error.retryAfterSeconds as number } : {}
  return { status, body: { ...body, ...details }, ...retry }
}

function inputErrorBody(error: ZodError): PublicError['body'] {
  const details = error.issues.flatMap((issue) => {
    const path = issue.path.map(String)
    if (issue.code !== 'unrecognized_keys') return [{ path: path.join('.'), message: issue.message }]
    return issue.keys.map((key) => ({ path: [...path, key].join('.'), message: 'is not a field of this request' }))
  })
  const [first] = details
  const code = details.some(({ path }) => path === 'limit' || path === 'offset')
    ? 'invalid_pagination'
    : 'validation_failed'
  return {
    error: first ? `${first.path || 'the request body'} ${first.message}`.trim() : 'The input is not valid',
    code,
    details,
  }
}

function transportCode(code: TRPC_ERROR_CODE_KEY): string {
  return code === 'PARSE_ERROR'
    ? 'invalid_json'
    : code === 'METHOD_NOT_SUPPORTED'
      ? 'method_not_allowed'
      : code.toLowerCase()
}

/** tRPC's own refusals, in our words: its texts change between versions and some repeat the input. */
function transportSentence(error: TRPCError): string {
  switch (error.code) {
    case 'PARSE_ERROR':
      return 'The request body is not valid JSON'
    case 'METHOD_NOT_SUPPORTED':
      return 'Queries are called with GET, mutations with POST'
    case 'NOT_FOUND':
      return 'Not found'
    case 'UNSUPPORTED_MEDIA_TYPE':
      return 'Send the body as application/json'
    case 'PAYLOAD_TOO_LARGE':
      return 'The request body is larger than 1 MB'
    default:
      return 'The request is not valid'
  }
}
