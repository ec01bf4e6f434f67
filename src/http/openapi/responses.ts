import { BODY_CODES, type BodyCode, toDocUrl } from '../../error-codes/index.ts'
import type { ProcedureMeta } from '../../trpc/rest.ts'
import type { Reference, Response, Schema } from './document.ts'

const LIMIT_HEADERS = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset']

export const HEADERS: Record<string, { description: string; schema: Schema }> = {
  'X-Request-Id': { description: 'Quote it when you report a problem', schema: { type: 'string' } },
  'RateLimit-Limit': { description: 'Requests allowed per window', schema: { type: 'integer' } },
  'RateLimit-Remaining': { description: 'Requests left in the current window', schema: { type: 'integer' } },
  'RateLimit-Reset': { description: 'Seconds until the window resets', schema: { type: 'integer' } },
  'Retry-After': { description: 'Seconds to wait before trying again', schema: { type: 'integer' } },
  'Idempotency-Replayed': {
    description: 'true if this is the answer to an earlier request with the same key',
    schema: { type: 'string', enum: ['true'] },
  },
  'WWW-Authenticate': {
    description: 'The scheme `Bearer`, and for an API key the reason: `error`, the missing `scope`',
    schema: { type: 'string' },
  },
  'Set-Cookie': { description: 'The session cookie', schema: { type: 'string' } },
}

/** The headers of answers that have no rate limit. */
export const REQUEST_ID_HEADERS = toHeaders(['X-Request-Id'])

export const ERROR_SCHEMAS: Record<string, Schema> = {
  ErrorCode: {
    type: 'string',
    description: 'A stable code for programs, which the page at `docUrl` explains. Later versions may add codes',
    enum: [...BODY_CODES],
    examples: ['not_found'],
  },
  ErrorWithoutCode: {
    type: 'object',
    description: 'An error whose status says what is wrong',
    properties: { error: { type: 'string', description: 'The error in words' } },
    required: ['error'],
    additionalProperties: false,
  },
  Error: {
    type: 'object',
    description: 'An error with a stable code',
    properties: {
      error: { type: 'string', description: 'What is wrong and what to change' },
      code: { $ref: '#/components/schemas/ErrorCode' },
      docUrl: {
        type: 'string',
        description: 'The explanation of the code, as a path of this server',
        examples: [toDocUrl('not_found')],
      },
      details: { description: 'The invalid inputs, or data for resolving the error' },
    },
    required: ['error', 'code', 'docUrl'],
    additionalProperties: false,
  },
}

type ErrorResponse = {
  name: string
  description: string
  /** Presence of `code`; by default every error of this status has one. */
  hasCode?: 'sometimes' | 'never'
  example: { error: string; code?: BodyCode; details?: unknown }
}

const ERROR_RESPONSES: Record<string, ErrorResponse> = {
  400: {
    name: 'BadRequest',
    description: 'The input is invalid',
    example: {
      error: 'name must not be empty',
      code: 'validation_failed',
      details: [{ path: 'name', message: 'must not be empty' }],
    },
  },
  401: {
    name: 'Unauthorized',
    description: 'There is no valid session or API key, no workspace is named, or the password is wrong',
    hasCode: 'sometimes',
    example: { error: 'Unauthorized' },
  },
  403: {
    name: 'Forbidden',
    description: 'The workspace, the role in it or the scopes of the API key do not allow this',
    hasCode: 'never',
    example: { error: 'Forbidden' },
  },
  404: {
    name: 'NotFound',
    description: 'The resource does not exist in this workspace',
    example: { error: 'Contact not found', code: 'not_found' },
  },
  408: {
    name: 'RequestTimeout',
    description: 'The body arrived too slowly',
    example: { error: 'The file arrives too slowly', code: 'request_timeout' },
  },
  409: {
    name: 'Conflict',
    description: 'The state of the resource does not allow this',
    example: {
      error: 'A request with this Idempotency-Key is still running. Send it again in a second to get its answer',
      code: 'idempotency_in_progress',
    },
  },
  413: {
    name: 'ContentTooLarge',
    description: 'The body is larger than 1 MB',
    example: { error: 'The request body is larger than 1 MB', code: 'body_too_large' },
  },
  415: {
    name: 'UnsupportedMediaType',
    description: 'The body is not JSON',
    example: { error: 'Send the request body as application/json', code: 'unsupported_media_type' },
  },
  422: {
    name: 'UnprocessableContent',
    description: 'A business rule does not allow this',
    example: {
      error: 'This Idempotency-Key was used with another request. Use a new key for a new request',
      code: 'idempotency_key_reused',
    },
  },
  429: {
    name: 'TooManyRequests',
    description: 'Too many requests from this address or with this API key, wrong passwords or open subscriptions',
    hasCode: 'sometimes',
    example: { error: 'Too many requests, please try again later' },
  },
  500: {
    name: 'InternalError',
    description: 'The server failed. Quote the request ID when you report it',
    example: {
      error: 'Something went wrong on our side. Quote request id 0199a7a0 when you report it.',
      code: 'internal',
    },
  },
  502: {
    name: 'BadGateway',
    description: 'The provider refused the request, or did not answer',
    example: { error: 'WhatsApp did not accept the request: Invalid parameter', code: 'provider_error' },
  },
  503: {
    name: 'ServiceUnavailable',
    description: 'The database is unavailable, or too much is in progress',
    example: {
      error: 'Too many computations are waiting. Try again in a few seconds',
      code: 'unavailable',
    },
  },
}

function toHeaders(names: string[]): Record<string, object> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

const ERROR: Schema = { $ref: '#/components/schemas/Error' }
const ERROR_WITHOUT_CODE: Schema = { $ref: '#/components/schemas/ErrorWithoutCode' }

function toErrorSchema({ hasCode }: ErrorResponse): Schema {
  if (hasCode === 'never') return ERROR_WITHOUT_CODE
  return hasCode === 'sometimes' ? { oneOf: [ERROR_WITHOUT_CODE, ERROR] } : ERROR
}

function toErrorResponse(status: string, response: ErrorResponse): Response {
  const canRetry = status === '409' || status === '429' || status === '503'
  const isRefusal = status === '401' || status === '403'
  const names = [
    'X-Request-Id',
    ...LIMIT_HEADERS,
    ...(canRetry ? ['Retry-After'] : []),
    ...(isRefusal ? ['WWW-Authenticate'] : []),
  ]
  const { description } = response
  const { error, code, ...details } = response.example
  const example = code === undefined ? { error } : { error, code, docUrl: toDocUrl(code), ...details }
  const content = { 'application/json': { schema: toErrorSchema(response), example } }
  return { description, headers: toHeaders(names), content }
}

/** The error responses by name, which the operations refer to. */
export const ERROR_COMPONENTS: Record<string, Response> = Object.fromEntries(
  Object.entries(ERROR_RESPONSES).map(([status, response]) => [response.name, toErrorResponse(status, response)]),
)

export function errorReferences(statuses: Iterable<string>): Record<string, Reference> {
  return Object.fromEntries(
    [...statuses].flatMap((status) => {
      const name = ERROR_RESPONSES[status]?.name
      return name ? [[status, { $ref: `#/components/responses/${name}` }]] : []
    }),
  )
}

/** Lists the error responses that an operation can return. */
export function errorResponses({
  openapi,
  idempotent,
  tier,
  canBeMissing,
  callsProvider,
}: ProcedureMeta): Record<string, Reference> {
  const isPublic = openapi?.protect === false
  const hasBody = ['POST', 'PUT', 'PATCH'].includes(openapi?.method ?? '')
  const changes = openapi?.method !== 'GET'
  return errorReferences([
    '400',
    ...(isPublic ? (tier === 'signIn' ? ['401'] : []) : ['401']),
    ...(isPublic && !changes ? [] : ['403']),
    ...(canBeMissing || openapi?.path.includes('{') || (changes && !isPublic) ? ['404'] : []),
    ...(changes && (!isPublic || tier === 'signUp') ? ['409'] : []),
    ...(hasBody ? ['413', '415'] : []),
    ...(idempotent || hasBody ? ['422'] : []),
    '429',
    '500',
    ...(callsProvider ? ['502'] : []),
    '503',
  ])
}

export function successHeaders(meta: ProcedureMeta): Record<string, object> {
  const setsCookie = meta.tier === 'signIn' || meta.tier === 'signUp'
  return toHeaders([
    'X-Request-Id',
    ...LIMIT_HEADERS,
    ...(meta.idempotent ? ['Idempotency-Replayed'] : []),
    ...(setsCookie ? ['Set-Cookie'] : []),
  ])
}
