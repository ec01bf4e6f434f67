import { newToken } from '../../platform/security/opaque-token.ts'
import type { Secrets } from '../../platform/security/secrets.ts'

type Place = { tenantId: string; id: string }

/** What binds a sealed secret to its row. */
function sealContext({ tenantId, id }: Place): string {
  return `hook:${tenantId}:${id}`
}

export function newWebhookSecret(secrets: Secrets, place: Place): { secret: string; sealed: Buffer } {
  const secret = newToken()
  return { secret, sealed: secrets.seal(secret, sealContext(place)) }
}

export function openWebhookSecret(secrets: Secrets, sealed: Buffer, place: Place): string {
  // Only texts are ever sealed under this context.
  return secrets.open(sealed, sealContext(place)) as string
}
