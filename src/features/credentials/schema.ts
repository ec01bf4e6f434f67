import { z } from 'zod'
import { isReservedHeader } from '../../platform/outbound/header-rules.ts'
import { id, text, timestamp } from '../../trpc/schemas.ts'

const placement = z
  .discriminatedUnion(
    'type',
    [
      z.strictObject({ type: z.literal('bearer') }),
      z.strictObject({
        type: z.literal('basic'),
        username: z.string().regex(/^[\x20-\x39\x3b-\x7e]{1,200}$/, 'must be printable ASCII without a colon'),
      }),
      z.strictObject({
        type: z.literal('header'),
        name: z
          .string()
          .regex(/^[A-Za-z0-9-]{1,100}$/, 'must be a header name such as X-Api-Key')
          .refine((name) => !isReservedHeader(name), 'is a header that only the call itself may set'),
      }),
      z.strictObject({
        type: z.literal('query'),
        name: z.string().regex(/^[\w.-]{1,100}$/, 'must be the name of a query parameter such as api_key'),
      }),
    ],
    {
      error: ({ input }) => (input === undefined ? 'is required' : 'must have the type bearer, basic, header or query'),
    },
  )
  .meta({
    id: 'CredentialPlacement',
    description:
      'The place of the secret in a request: `Authorization: Bearer`, `Authorization: Basic` with the secret as password, a header, or a query parameter',
    examples: [{ type: 'header', name: 'X-Api-Key' }],
  })

const host = z
  .string()
  .trim()
  .toLowerCase()
  .max(260)
  .regex(/^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d{1,5})?$/, 'must be a host name such as api.example.com')

const fields = {
  name: text(120),
  placement,
  allowedHosts: z
    .array(host)
    .min(1, 'must name at least one host')
    .max(20, 'must have at most 20 hosts')
    .transform((hosts) => [...new Set(hosts)])
    .meta({
      description: 'The hosts that may receive the secret, over HTTPS. Subdomains are separate hosts',
      examples: [['api.example.com']],
    }),
  secret: z
    .string()
    .regex(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/, 'must be printable ASCII without spaces at its ends')
    .min(8, 'must have at least 8 characters')
    .max(4096, 'must have at most 4096 characters')
    .meta({ description: 'Stored encrypted and never returned', examples: ['an-api-key-of-the-service'] }),
}

export const Credential = z
  .object({
    id,
    name: z.string(),
    placement,
    allowedHosts: z.array(z.string()),
    lastFour: z
      .string()
      .nullable()
      .meta({ description: 'The last four characters of the secret; null if it has fewer than 16' }),
    lastUsedAt: timestamp.nullable().meta({ description: 'Time of a recent use, exact to an hour' }),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Credential' })
export type Credential = z.infer<typeof Credential>

export const Credentials = z.object({ items: z.array(Credential) })

export const CredentialRef = z.strictObject({ credentialId: id })
export type CredentialRef = z.infer<typeof CredentialRef>

export const CreateCredential = z.strictObject(fields)
export type CreateCredential = z.infer<typeof CreateCredential>

export const UpdateCredential = z.strictObject(fields).partial().extend({ credentialId: id })
export type UpdateCredential = z.infer<typeof UpdateCredential>
