import { hashToken } from '../../src/platform/security/tokens.ts'
import { addMs, DAY } from '../../src/platform/time.ts'
import type { SeededWorkspace } from '../../src/seed/seeded-workspace.ts'
import { DEMO } from './ids.ts'

/** The key is known to everybody, so it works on this machine and in local networks only, such as those of containers. */
const PRIVATE_NETWORKS = ['127.0.0.0/8', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '::1/128', 'fc00::/7']

/** Inserts the API key of the commands in the documents. */
export async function seedApiKey({ tx, id, owner }: SeededWorkspace, now: Date): Promise<void> {
  const { apiKeyId, apiKey } = DEMO
  await tx('api_keys').insert({
    tenant_id: id,
    id: apiKeyId,
    name: 'Commands of the README',
    last_four: apiKey.slice(-4),
    grants: ['full'],
    ip_ranges: PRIVATE_NETWORKS,
    limit_per_minute: 1000,
    created_by: JSON.stringify(owner),
    known_to: owner.id === null ? [] : [owner.id],
    created_at: addMs(now, -60 * DAY),
    updated_at: now,
  })
  await tx('api_key_routes').insert({ secret_hash: hashToken(apiKey), tenant_id: id, api_key_id: apiKeyId })
}
