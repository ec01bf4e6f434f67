/**
 * Requests per address in each tier, and calls of workflow webhooks per workspace, within a window that starts with the
 * first one.
 */
export const TIERS = {
  forgot: { points: 3, seconds: 3600 },
  reset: { points: 3, seconds: 3600 },
  signIn: { points: 5, seconds: 60 },
  signUp: { points: 3, seconds: 300 },
  auth: { points: 10, seconds: 60 },
  webhookRejected: { points: 60, seconds: 60 },
  workflowWebhook: { points: 600, seconds: 60 },
  api: { points: 100, seconds: 60 },
} as const

/**
 * Size of the genuine calls of the provider of one channel. A number sends at most 1,000 messages a second, each of which has
 * three statuses of about 1 KB, and receives fewer: together less than half of this.
 */
export const WEBHOOK_BYTES = { bytes: 512 * 1024 ** 2, seconds: 60 }

/**
 * Size of the answers to requests with an Idempotency-Key that are kept for one workspace. Most have less than 1 KB, those
 * with a definition half a megabyte.
 */
export const KEYED_ANSWER_BYTES = { bytes: 2 * 1024 ** 3, seconds: 86_400 }

/**
 * Requests per IPv6 network in a tier beside those per address, by the network's prefix length: the holder of a /56 or
 * /48 has all of its /64 networks, each of which is an address.
 */
export const NETWORK_TIERS: Partial<Record<Tier, { bits: number; points: number; seconds: number }[]>> = {
  signUp: [
    { bits: 56, points: 20, seconds: 3600 },
    { bits: 48, points: 60, seconds: 3600 },
  ],
}

export type Tier = keyof typeof TIERS
