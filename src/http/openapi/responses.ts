import type { ProcedureMeta } from '../../trpc/rest.ts'
import type { Response, Schema } from './document.ts'

const LIMIT_HEADERS = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset']

export const HEADERS: Record<string, { description: string; schema: Schema }> = {
  'X-Request-Id': { description: 'Quote it when you report a problem', schema: { type: 'string' } },
  'RateLimit-Limit': { description: 'Requests allowed in the window', schema: { type: 'integer' } },
  'RateLimit-Remaining': { description: 'Requests left in the current window', schema: { type: 'integer' } },
  'RateLimit-Reset': { description: 'Seconds until the window resets', schema: { type: 'integer' } },
  'Retry-After': { description: 'Seconds to wait before trying again', schema: { type: 'integer' } },
  'Idempotency-Replayed': {
    description: 'true if the answer is that of an earlier request with this key',
    schema: { type: 'string', enum: ['true'] },
  },
  'Set-Cookie': { description: 'The session', schema: { type: 'string' } },
}

export const ERROR_SCHEMAS: Record<string, Schema> = {
  BareError: {
    type: 'object',
    properties: { error: { type: 'string' } },
    required: ['error'],
    additionalProperties: false,
  },
  Error: {
    type: 'object',
    properties: {
      error: { type: 'string', description: 'A sentence that says what to change' },
      code: { type: 'string', description: 'For programs: small letters and _' },
      details: { description: 'The inputs at fault, or what is needed to go on' },
    },
    required: ['error', 'code'],
    additionalProperties: false,
  },
}

type Refusal = { description: string; isBare?: boolean; example: Record<string, unknown> }

const REFUSALS: Record<string, Refusal> = {
  400: {
    description: 'The input is not of the form this operation takes',
    example: {
      error: 'name must not be empty',
      code: 'validation_failed',
      details: [{ path: 'name', message: 'must not be empty' }],
    },
  },
  401: { description: 'No session, or no workspace named', isBare: true, example: { error: 'Unauthorized' } },
  403: {
    description: 'The workspace, or the role in it, does not allow this',
    isBare: true,
    example: { error: 'Forbidden' },
  },
  404: {
    description: 'Not there, or not in this workspace',
    example: { error: 'Contact not found', code: 'not_found' },
  },
  409: {
    description: 'In a state that does not allow this',
    example: { error: 'A request with this Idempotency-Key is still running', code: 'idempotency_in_progress' },
  },
  413: {
    description: 'The body is larger than 1 MB',
    example: { error: 'The request body is larger than 1 MB', code: 'body_too_large' },
  },
  415: {
    description: 'The body is not JSON',
    example: { error: 'Send the request body as application/json', code: 'unsupported_media_type' },
  },
  422: {
    description: 'A rule of the business refuses it',
    example: {
      error: 'This Idempotency-Key was used with another request. Use a new key for a new request',
      code: 'idempotency_key_reused',
    },
  },
  429: {
    description: 'Too many requests from this address',
    isBare: true,
    example: { error: 'Too many requests, please try again later' },
  },
  500: {
    description: 'A fault of ours',
    example: {
      error: 'Something went wrong on our side. Quote request id 0199a7a0 when you report it.',
      code: 'internal',
    },
  },
}

function headersOf(names: string[]): Record<string, object> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

function refusal(status: string, { description, isBare, example }: Refusal): Response {
  const names = ['X-Request-Id', ...LIMIT_HEADERS, ...(status === '429' ? ['Retry-After'] : [])]
  const schema = { $ref: `#/components/schemas/${isBare ? 'BareError' : 'Error'}` }
  return { description, headers: headersOf(names), content: { 'application/json': { schema, example } } }
}

/** The answers an operation can give beside success. */
export function errorResponses(meta: ProcedureMeta): Record<string, Response> {
  const { openapi, idempotent, tier } = meta
  const isPublic = openapi?.protect === false
  const hasBody = ['POST', 'PUT', 'PATCH'].includes(openapi?.method ?? '')
  const changes = openapi?.method !== 'GET'
  const statuses = [
    '400',
    ...(isPublic ? (tier === 'signIn' ? ['401'] : []) : ['401']),
    ...(isPublic && !changes ? [] : ['403']),
    ...(openapi?.path.includes('{') || (changes && !isPublic) ? ['404'] : []),
    ...(changes && !isPublic ? ['409'] : []),
    ...(hasBody ? ['413', '415'] : []),
    ...(idempotent || hasBody ? ['422'] : []),
    '429',
    '500',
  ]
  return Object.fromEntries(statuses.map((status) => [status, refusal(status, REFUSALS[status] as Refusal)]))
}

export function successHeaders(meta: ProcedureMeta): Record<string, object> {
  const setsCookie = meta.tier === 'signIn' || meta.tier === 'signUp'
  return headersOf([
    'X-Request-Id',
    ...LIMIT_HEADERS,
    ...(meta.idempotent ? ['Idempotency-Replayed'] : []),
    ...(setsCookie ? ['Set-Cookie'] : []),
  ])
}
