import { z } from 'zod'
import { duration } from '../../engine/language/definition/duration.ts'
import { parseNetwork } from '../../platform/client-address.ts'
import { DAY } from '../../platform/time.ts'
import { GRANTS } from '../../trpc/api-scopes.ts'
import { createdBy, id, page, text, timestamp, timestampInput, toPage } from '../../trpc/schemas.ts'

const LIMIT_DEFAULT = 1_000
const LIMIT_MAX = 10_000
const OVERLAP_MAX = 7 * DAY

const name = text(120).meta({ examples: ['Booking system'] })

const scope = z
  .enum(GRANTS, 'must be a scope such as contacts:read, or full, read_only or send_only')
  .meta({ id: 'ApiScope' })

const scopes = z
  .array(scope)
  .min(1, 'must have at least one scope')
  .max(GRANTS.length, 'must name each scope once')
  .transform((names) => [...new Set(names)])
  .meta({
    description:
      'What the key may do: scopes such as `contacts:read`, or the presets `full`, `read_only` and `send_only`, which also include what later versions add to them',
    examples: [['contacts:read', 'contacts:write']],
  })

const network = text(64).transform((value, issues) => {
  const parsed = parseNetwork(value)
  if (parsed !== undefined) return parsed
  issues.addIssue({ code: 'custom', message: 'must be an IP address or network such as 203.0.113.0/24' })
  return z.NEVER
})

const ipRanges = z
  .array(network)
  .min(1, 'must have at least one network, or be null')
  .max(20, 'must have at most 20 networks')
  .nullable()
  .meta({
    description: 'Networks that the key may be used from; null for any',
    examples: [['203.0.113.0/24']],
  })

const channelIds = z
  .array(id)
  .min(1, 'must have at least one channel, or be null')
  .max(100, 'must have at most 100 channels')
  .transform((ids) => [...new Set(ids.map((channelId) => channelId.toLowerCase()))])
  .nullable()
  .meta({
    description:
      'Channels on which the key may send messages and change broadcasts; null for all. It does not limit what the key reads, nor what workflows send',
    examples: [null],
  })

const expiresAt = timestampInput.nullable().meta({
  description: 'The time from which the key is not accepted; null for none',
  examples: [null],
})

const limitPerMinute = z
  .int('must be an integer')
  .min(1, 'must be at least 1')
  .max(LIMIT_MAX, `must be at most ${LIMIT_MAX}`)
  .meta({
    description: `Calls that the key may make in a minute. All keys of a workspace together may make ${LIMIT_MAX}`,
    examples: [LIMIT_DEFAULT],
  })

export const ApiKey = z
  .object({
    id,
    name: z.string().meta({ examples: ['Booking system'] }),
    status: z.enum(['active', 'expired', 'revoked']),
    lastFour: z.string().meta({ description: 'The last four characters of the secret', examples: ['x7Kq'] }),
    scopes: z.array(scope),
    ipRanges: z.array(z.string()).nullable(),
    channelIds: z.array(id).nullable(),
    limitPerMinute: z.int(),
    createdBy,
    expiresAt: timestamp.nullable(),
    previousExpiresAt: timestamp
      .nullable()
      .meta({ description: 'The end of the secret before the present one; null if it has ended' }),
    lastUsedAt: timestamp.nullable().meta({ description: 'Time of a recent use, exact to a minute' }),
    revokedAt: timestamp.nullable(),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'ApiKey' })
export type ApiKey = z.infer<typeof ApiKey>

export const ApiKeyWithSecret = ApiKey.extend({
  key: z.string().meta({
    description: 'The secret to send as `Authorization: Bearer`. No other answer contains it',
    examples: ['prl_0123456789abcdefghijklmnopqrst2cLV9h'],
  }),
}).meta({ id: 'ApiKeyWithSecret' })
export type ApiKeyWithSecret = z.infer<typeof ApiKeyWithSecret>

export const ApiKeyPage = toPage(ApiKey)

export const ListApiKeys = z.strictObject(page)
export type ListApiKeys = z.infer<typeof ListApiKeys>

export const ApiKeyRef = z.strictObject({ apiKeyId: id })
export type ApiKeyRef = z.infer<typeof ApiKeyRef>

export const CreateApiKey = z.strictObject({
  name,
  scopes,
  ipRanges: ipRanges.default(null),
  channelIds: channelIds.default(null),
  expiresAt: expiresAt.default(null),
  limitPerMinute: limitPerMinute.default(LIMIT_DEFAULT),
})
export type CreateApiKey = z.infer<typeof CreateApiKey>

export const UpdateApiKey = z.strictObject({
  apiKeyId: id,
  name: name.optional(),
  scopes: scopes.optional(),
  ipRanges: ipRanges.optional(),
  channelIds: channelIds.optional(),
  expiresAt: expiresAt.optional(),
  limitPerMinute: limitPerMinute.optional(),
})
export type UpdateApiKey = z.infer<typeof UpdateApiKey>

/** The time for which a secret still works that is replaced. */
export const overlap = duration
  .refine((ms) => ms <= OVERLAP_MAX, 'must be at most 7 days')
  .optional()
  .meta({
    description:
      'How long the present secret works beside the new one: 24 hours by default, at most 7 days. `0s` ends it at once',
    examples: ['24h'],
  })

export const RotateApiKey = z.strictObject({
  apiKeyId: id,
  overlap,
})
export type RotateApiKey = z.infer<typeof RotateApiKey>
