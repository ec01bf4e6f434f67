import { z } from 'zod'
import { json, id, timestamp, text } from '../../trpc/schemas.ts'

const effect = z.enum(['read', 'write', 'external_send'])
const storedSchema = z.record(z.string(), z.unknown())

export const Tool = z
  .object({
    id,
    name: z.string(),
    title: z.string(),
    description: z.string(),
    type: z.enum(['builtin', 'http']),
    inputSchema: storedSchema.meta({ description: 'JSON Schema of the input' }),
    outputSchema: storedSchema.meta({ description: 'JSON Schema of the output' }),
    effect: effect.meta({ description: 'The kind of side effect of a call' }),
    config: z.record(z.string(), z.unknown()).nullable(),
    enabled: z.boolean(),
    createdAt: timestamp.nullable(),
    updatedAt: timestamp.nullable(),
  })
  .meta({ id: 'Tool' })
export type Tool = z.infer<typeof Tool>

export const Tools = z.object({ items: z.array(Tool) })

export const ToolRef = z.strictObject({ toolId: id })
export type ToolRef = z.infer<typeof ToolRef>

const objectSchema = json
  .refine((schema) => schema['type'] === 'object', 'must be a JSON Schema of type object')
  .meta({ examples: [{ type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }] })

/** As many as common servers accept. */
const HEADERS_MAX = 100

const config = z
  .strictObject({
    method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
    url: z
      .string()
      .max(2000)
      .refine(isCallable, 'must be an http or https URL without a user name or password')
      .meta({ examples: ['https://api.example.com/quote'] }),
    headers: z
      .record(
        z.string().regex(/^[A-Za-z0-9-]{1,100}$/, 'must be a valid header name'),
        z
          .string()
          .max(2000)
          .regex(/^[\x20-\x7e]*$/, 'must be printable ASCII'),
      )
      .refine((headers) => Object.keys(headers).length <= HEADERS_MAX, `must have at most ${HEADERS_MAX} names`)
      .optional()
      .meta({
        maxProperties: HEADERS_MAX,
        description:
          'Stored encrypted; secrets belong in a credential. Responses show [redacted] instead of the values; send [redacted] to keep a value',
      }),
    credentialId: id
      .optional()
      .meta({ description: 'The credential that calls carry. Its allowed hosts must contain the host of the URL' }),
  })
  .meta({ id: 'ToolRequest', examples: [{ method: 'GET', url: 'https://api.example.com/quote' }] })

function isCallable(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, username, password } = new URL(text)
  return (protocol === 'https:' || protocol === 'http:') && !username && !password
}

const fields = {
  name: z
    .string()
    .regex(
      /^[a-z][a-z0-9_.]{0,63}$/,
      'must start with a lower case letter and contain only lower case letters, digits, _ and .',
    )
    .meta({ examples: ['shop.quote'] }),
  title: text(120),
  description: text(1000),
  inputSchema: objectSchema,
  outputSchema: objectSchema,
  effect,
  config,
}

export const CreateTool = z.strictObject({ ...fields, enabled: z.boolean().optional() })
export type CreateTool = z.infer<typeof CreateTool>

export const UpdateTool = CreateTool.partial().extend({ toolId: id })
export type UpdateTool = z.infer<typeof UpdateTool>
