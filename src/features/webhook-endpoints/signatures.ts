import { createHmac, randomBytes } from 'node:crypto'
import type { Secrets } from '../../platform/security/secrets.ts'

/** A secret of Standard Webhooks is this prefix and the base64 of 24 to 64 bytes. */
const PREFIX = 'whsec_'
const SECRET_BYTES = 32

type EndpointKey = { tenantId: string; id: string }

/** Context that binds a sealed secret to its row. */
export function sealContext({ tenantId, id }: EndpointKey): string {
  return `webhook-endpoint:${tenantId}:${id}`
}

/** Creates the secret that an endpoint verifies deliveries with. */
export function newEndpointSecret(secrets: Secrets, key: EndpointKey): { secret: string; sealed: Buffer } {
  const secret = `${PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`
  return { secret, sealed: secrets.seal(secret, sealContext(key)) }
}

type EndpointSecrets = EndpointKey & {
  secret: Buffer
  previousSecret: Buffer | null
  previousExpiresAt: Date | null
}

/** Opens the keys of the secrets that are valid at a time, the present one first. */
export function openSigningKeys(secrets: Secrets, endpoint: EndpointSecrets, now: Date): Buffer[] {
  const { secret, previousSecret, previousExpiresAt } = endpoint
  const isPreviousValid = previousSecret !== null && previousExpiresAt !== null && previousExpiresAt > now
  const sealed = isPreviousValid ? [secret, previousSecret] : [secret]
  return sealed.map((each) => {
    const text = String(secrets.open(each, sealContext(endpoint)))
    return Buffer.from(text.slice(PREFIX.length), 'base64')
  })
}

/** Returns the headers of Standard Webhooks 1.0.0, with a signature for each key. */
export function signDelivery(keys: readonly Buffer[], { id, body, now }: { id: string; body: string; now: Date }) {
  const timestamp = `${Math.floor(now.getTime() / 1000)}`
  const signatures = keys.map((key) => {
    const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
    return `v1,${signature}`
  })
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}
