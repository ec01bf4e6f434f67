import { TRPCError } from '@trpc/server'
import { getHTTPStatusCodeFromError } from '@trpc/server/http'
import { TRPC_ERROR_CODES_BY_KEY, type TRPC_ERROR_CODE_KEY } from '@trpc/server/rpc'
import { ZodError } from 'zod'
import { type BodyCode, isBodyCode, toDocUrl } from '../error-codes/index.ts'
import { isTransient, sqlState } from '../platform/database/database.ts'
import {
  AppError,
  BadGatewayError,
  type Challenge,
  ConflictError,
  ForbiddenError,
  InvalidError,
  LimitExceededError,
  NotFoundError,
  TooLargeError,
  UnauthorizedError,
  UnavailableError,
  UnprocessableError,
} from '../platform/errors.ts'
import { describeUnknownField } from '../platform/unknown-field.ts'

/** An error as the caller sees it, the same for REST and tRPC. */
export type PublicError = {
  /** The name of the error in tRPC's table, which decides the HTTP status and the JSON-RPC number. */
  key: TRPC_ERROR_CODE_KEY
  status: number
  body: { error: string; code?: BodyCode; docUrl?: string; details?: unknown }
  headers: Record<string, string>
}

const KEYS = [
  [InvalidError, 'BAD_REQUEST'],
  [UnauthorizedError, 'UNAUTHORIZED'],
  [ForbiddenError, 'FORBIDDEN'],
  [NotFoundError, 'NOT_FOUND'],
  [ConflictError, 'CONFLICT'],
  [UnprocessableError, 'UNPROCESSABLE_CONTENT'],
  [BadGatewayError, 'BAD_GATEWAY'],
  [TooLargeError, 'PAYLOAD_TOO_LARGE'],
  [LimitExceededError, 'TOO_MANY_REQUESTS'],
  [UnavailableError, 'SERVICE_UNAVAILABLE'],
] as const satisfies readonly (readonly [unknown, TRPC_ERROR_CODE_KEY])[]

/** Codes and texts of the errors that the transport raises itself. tRPC's own texts vary and may repeat the input. */
const TRANSPORT_ERRORS: Partial<Record<TRPC_ERROR_CODE_KEY, [code: BodyCode, message: string]>> = {
  PARSE_ERROR: ['invalid_json', 'The request body is not valid JSON'],
  NOT_FOUND: ['not_found', 'No operation has this path. GET /openapi.json lists all'],
  METHOD_NOT_SUPPORTED: ['method_not_allowed', 'Call queries with GET and mutations with POST'],
  TIMEOUT: ['request_timeout', 'The request did not arrive in time'],
  PAYLOAD_TOO_LARGE: ['body_too_large', 'The request body is larger than 1 MB'],
  UNSUPPORTED_MEDIA_TYPE: ['unsupported_media_type', 'Send the request body as application/json'],
}

/** An error of the transport: the request cannot be read, or no procedure answers it. */
export class TransportError extends AppError {
  override name = 'TransportError'
  readonly key: TRPC_ERROR_CODE_KEY
  readonly headers: Record<string, string>

  constructor(key: TRPC_ERROR_CODE_KEY, options: ErrorOptions & { message?: string; headers?: object } = {}) {
    const [code, message] = describeTransportError(key)
    const place = key === 'PARSE_ERROR' ? describeJsonPlace(options.cause) : ''
    super(code, options.message ?? `${message}${place}`, undefined, options)
    this.key = key
    this.headers = { ...options.headers }
  }
}

/** Names the place that JSON.parse states, from which texts of the body must not be repeated. */
function describeJsonPlace(cause: unknown): string {
  if (!(cause instanceof SyntaxError)) return ''
  const position = / at position (\d+)/.exec(cause.message)?.[1]
  if (position !== undefined) return `. The error is at character ${Number(position) + 1}`
  return cause.message === 'Unexpected end of JSON input' ? '. It ends too early' : ''
}

function describeTransportError(key: TRPC_ERROR_CODE_KEY): [code: BodyCode, message: string] {
  return TRANSPORT_ERRORS[key] ?? ['bad_request', 'The request is not valid']
}

/** Converts any thrown value to a tRPC error. This is the only place that maps our errors to tRPC's table. */
export function toTrpcError(error: unknown): TRPCError {
  if (error instanceof TRPCError) {
    if (error.cause instanceof AppError) return toTrpcError(error.cause)
    // tRPC reports JSON that it cannot parse as an invalid input.
    const isJsonError = error.code === 'BAD_REQUEST' && error.cause instanceof SyntaxError
    if (isJsonError) return toTrpcError(new TransportError('PARSE_ERROR', { cause: error.cause }))
    const isTemporary = error.code === 'INTERNAL_SERVER_ERROR' && isTransient(error.cause)
    return isTemporary ? toTrpcError(unavailableError(error.cause)) : error
  }
  if (error instanceof AppError) return new TRPCError({ code: findKey(error), message: error.message, cause: error })
  if (isTransient(error)) return toTrpcError(unavailableError(error))
  if (isUnstorableText(error)) {
    return toTrpcError(
      new InvalidError(
        'A text contains characters that cannot be stored. Remove NUL characters and lone surrogates',
        undefined,
        undefined,
        { cause: error },
      ),
    )
  }
  return new TRPCError({ code: 'INTERNAL_SERVER_ERROR', cause: error })
}

const RETRY_AFTER_SECONDS = 5

function unavailableError(cause: unknown): UnavailableError {
  const message = 'The service is overloaded or its database is unreachable. Try again in a few seconds'
  return new UnavailableError(message, RETRY_AFTER_SECONDS, { cause })
}

/** Finds the failure behind a 503 that the logs should explain; undefined if the answer says everything. */
export function findOutage({ cause }: TRPCError): unknown {
  return cause instanceof UnavailableError ? cause.cause : undefined
}

function findKey(error: AppError): TRPC_ERROR_CODE_KEY {
  if (error instanceof TransportError) return error.key
  return KEYS.find(([type]) => error instanceof type)?.[1] ?? 'INTERNAL_SERVER_ERROR'
}

/** Postgres rejects NUL, and a lone surrogate inside JSON. Schemas reject them first; this catches the rest. */
function isUnstorableText(error: unknown): boolean {
  return ['22021', '22P05'].includes(sqlState(error) ?? '')
}

/** Server errors whose text helps the caller. */
const EXPLAINED: ReadonlySet<string> = new Set(['BAD_GATEWAY', 'SERVICE_UNAVAILABLE'])

/** A caller without access to the workspace learns no reason; an unexpected error reveals nothing but the request id. */
export function toPublicError(thrown: unknown, requestId: string): PublicError {
  const error = toTrpcError(thrown)
  const base = { key: error.code, status: getHTTPStatusCodeFromError(error), headers: {} }
  if (base.status >= 500 && !EXPLAINED.has(error.code)) {
    const text = `Something went wrong on our side. Quote request id ${requestId} when you report it.`
    return { ...base, body: toBody('internal', text) }
  }
  const { cause } = error
  if (cause instanceof AppError) return { ...base, headers: errorHeaders(cause), body: appErrorBody(cause) }
  if (cause instanceof ZodError) return { ...base, body: inputErrorBody(cause) }
  const [code, message] = describeTransportError(error.code)
  return { ...base, body: toBody(code, message) }
}

function toBody(code: BodyCode, error: string): PublicError['body'] {
  return { error, code, docUrl: toDocUrl(code) }
}

/** Converts a public error to the shape that tRPC clients read. */
export function toErrorShape({ key, status, body }: PublicError, path?: string) {
  const data = { code: key, httpStatus: status, ...(path === undefined ? {} : { path }), ...body }
  return { message: body.error, code: TRPC_ERROR_CODES_BY_KEY[key], data }
}

function errorHeaders(error: AppError): Record<string, string> {
  if (error instanceof TransportError) return error.headers
  if (error instanceof UnauthorizedError) return { 'WWW-Authenticate': toChallengeText(error.challenge) }
  if (error instanceof ForbiddenError && error.challenge)
    return { 'WWW-Authenticate': toChallengeText(error.challenge) }
  return 'retryAfterSeconds' in error ? { 'Retry-After': String(error.retryAfterSeconds) } : {}
}

function toChallengeText(challenge: Challenge | undefined): string {
  const parameters = Object.entries(challenge ?? {}).map(([name, value]) => `${name}="${value}"`)
  return parameters.length === 0 ? 'Bearer' : `Bearer ${parameters.join(', ')}`
}

/** Returns the headers of an answer with the errors of several calls: it may be repeated after the longest wait. */
export function mergeErrorHeaders(errors: PublicError[]): Record<string, string> {
  const merged: Record<string, string> = {}
  for (const { headers } of errors) {
    const seconds = Math.max(Number(merged['Retry-After'] ?? 0), Number(headers['Retry-After'] ?? 0))
    if (seconds > 0) merged['Retry-After'] = String(seconds)
    const challenge = headers['WWW-Authenticate']
    if (challenge !== undefined) merged['WWW-Authenticate'] ??= challenge
  }
  return merged
}

function appErrorBody(error: AppError): PublicError['body'] {
  const body = isBodyCode(error.code) ? toBody(error.code, error.message) : { error: error.message }
  return error.details === undefined ? body : { ...body, details: error.details }
}

/** Unknown fields of an object that are compared with those that it may have. */
const SUGGESTIONS_MAX = 10

function inputErrorBody(error: ZodError): PublicError['body'] {
  const details = error.issues.flatMap((issue) => {
    const path = issue.path.map(String)
    if (issue.code !== 'unrecognized_keys') return [{ path: path.join('.'), message: issue.message }]
    return issue.keys.map((key, index) => ({
      path: [...path, key].join('.'),
      message: describeUnknownField(key, index < SUGGESTIONS_MAX ? issue.message : '', 'this request'),
    }))
  })
  const [first] = details
  const isPagination = details.some(({ path }) => path === 'limit' || path === 'offset')
  const text = first ? `${first.path || 'the request body'} ${first.message}`.trim() : 'The input is not valid'
  return { ...toBody(isPagination ? 'invalid_pagination' : 'validation_failed', text), details }
}
