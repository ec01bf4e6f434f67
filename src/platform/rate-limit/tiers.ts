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

export type Tier = keyof typeof TIERS
