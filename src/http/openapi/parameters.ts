import { z } from 'zod'
import type { ApiScope } from '../../trpc/api-scopes.ts'
import type { ProcedureMeta } from '../../trpc/rest.ts'
import type { Operation, Parameter, Reference, Schema } from './document.ts'
import { buildExample } from './example.ts'
import { describeField } from './field-descriptions.ts'
import { tidySchema } from './tidy-schema.ts'

/** The header parameters, which operations refer to. */
export const PARAMETERS: Record<string, Parameter> = {
  Workspace: {
    in: 'header',
    name: 'x-tenant-id',
    description:
      'The ID of a workspace that you are a member of; sign-in and `GET /api/auth/get-session` list them. Required with a session. An API key has one workspace, so with a key it may be left out',
    schema: { type: 'string', format: 'uuid' },
    example: '0199a7a0-0000-7000-8000-000000000001',
  },
  IdempotencyKey: {
    in: 'header',
    name: 'Idempotency-Key',
    description:
      'Repeating a request with the same key and body has no further effect and returns the first answer, for a day',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
    example: 'order-4711',
  },
}

function toReference(name: string): Reference {
  return { $ref: `#/components/parameters/${name}` }
}

export const WORKSPACE = toReference('Workspace')

/** A member with a session may call an operation, and so may an API key if the operation has a scope. */
export function describeAccess(scope: ApiScope | undefined): Pick<Operation, 'security' | 'x-scope'> {
  if (scope === undefined) return { security: [{ session: [] }] }
  return { security: [{ session: [] }, { apiKey: [] }], 'x-scope': scope }
}

/** Lists the headers that an operation reads. */
export function headerParameters({ openapi, withoutWorkspace, idempotent }: ProcedureMeta): Reference[] {
  const needsWorkspace = openapi?.protect !== false && !withoutWorkspace
  return [...(needsWorkspace ? [WORKSPACE] : []), ...(idempotent ? [toReference('IdempotencyKey')] : [])]
}

/**
 * Adds the description and an example. The library drops the description of an optional parameter, since it unwraps the
 * schema that carries it.
 */
export function completeParameter(
  parameter: Parameter,
  { input, schemas, owner }: { input: unknown; schemas: Record<string, Schema>; owner: string },
): Parameter {
  const { name } = parameter
  const field = input instanceof z.ZodObject ? input.shape[name] : undefined
  const { description = describeField(name, owner), examples } = { ...parameter.schema, ...readMeta(field) }
  const { description: _, ...schema } = tidySchema(parameter.schema, owner)
  return {
    ...parameter,
    schema,
    ...(typeof description === 'string' ? { description } : {}),
    example: Array.isArray(examples) ? examples[0] : buildExample(parameter.schema, schemas, { name }),
  }
}

/** Reads the metadata of a schema, of which the outer wrapper takes precedence. */
function readMeta(schema: unknown): Record<string, unknown> {
  if (!(schema instanceof z.ZodType)) return {}
  const isWrapper = schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault
  return { ...(isWrapper ? readMeta(schema.unwrap()) : {}), ...schema.meta() }
}
