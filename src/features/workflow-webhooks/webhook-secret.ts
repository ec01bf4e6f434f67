import { newToken } from '../../platform/security/tokens.ts'
import type { Secrets } from '../../platform/security/secrets.ts'

type WebhookKey = { tenantId: string; id: string }

/** Context that binds a sealed secret to its row. */
export function sealContext({ tenantId, id }: WebhookKey): string {
  return `workflow-webhook:${tenantId}:${id}`
}

export function newWebhookSecret(secrets: Secrets, key: WebhookKey): { secret: string; sealed: Buffer } {
  const secret = newToken()
  return { secret, sealed: secrets.seal(secret, sealContext(key)) }
}

export function openWebhookSecret(secrets: Secrets, sealed: Buffer, key: WebhookKey): string {
  return String(secrets.open(sealed, sealContext(key)))
}
