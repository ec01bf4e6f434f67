import type { Knex } from 'knex'
import { Passwords } from '../../src/platform/security/passwords.ts'
import { hashToken } from '../../src/platform/security/tokens.ts'
import { addMs, DAY } from '../../src/platform/time.ts'
import type { Actor } from '../../src/scope/dependencies.ts'
import { DEMO } from './ids.ts'

const OWNER_NAME = 'Dana Demo'
/** The key is known to everybody, so it works on this machine and in local networks only, such as those of containers. */
const PRIVATE_NETWORKS = ['127.0.0.0/8', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '::1/128', 'fc00::/7']

/** Inserts the workspace, its sandbox channel, its API key and its owner, and returns the owner. An existing account is reused. */
export async function seedWorkspace(tx: Knex, now: Date): Promise<Actor> {
  const { workspaceId, sandboxId } = DEMO
  const times = { created_at: addMs(now, -60 * DAY), updated_at: now }
  const ownerId = await ensureUser(tx, now)
  await tx('workspaces').insert({ id: workspaceId, name: 'Casa Verde', timezone: 'America/Sao_Paulo', ...times })
  await tx('memberships').insert({ workspace_id: workspaceId, user_id: ownerId, role: 'owner', created_at: now })
  await tx('channels').insert({
    tenant_id: workspaceId,
    id: sandboxId,
    kind: 'sandbox',
    name: 'Sandbox',
    status: 'connected',
    settings: {},
    // Slow enough to watch the progress of a broadcast.
    broadcasts_per_second: 10,
    ...times,
  })
  await tx('channel_routes').insert({ channel_id: sandboxId, tenant_id: workspaceId })
  const owner: Actor = { type: 'user', id: ownerId, name: OWNER_NAME }
  await seedApiKey(tx, owner, times)
  return owner
}

async function seedApiKey(tx: Knex, owner: Actor, times: { created_at: Date; updated_at: Date }): Promise<void> {
  const { workspaceId, apiKeyId, apiKey } = DEMO
  await tx('api_keys').insert({
    tenant_id: workspaceId,
    id: apiKeyId,
    name: 'Commands of the README',
    last_four: apiKey.slice(-4),
    grants: ['full'],
    ip_ranges: PRIVATE_NETWORKS,
    limit_per_minute: 1000,
    created_by: JSON.stringify(owner),
    known_to: [owner.id],
    ...times,
  })
  await tx('api_key_routes').insert({
    secret_hash: hashToken(apiKey),
    tenant_id: workspaceId,
    api_key_id: apiKeyId,
  })
}

async function ensureUser(tx: Knex, now: Date): Promise<string> {
  const { userId, email, password } = DEMO
  const times = { created_at: addMs(now, -60 * DAY), updated_at: now }
  await tx('users')
    .insert({ id: userId, email, name: OWNER_NAME, email_verified: true, ...times })
    .onConflict('email')
    .ignore()
  const { id } = await tx('users').where({ email }).first<{ id: string }>('id')
  const passwordHash = await new Passwords().hash(password)
  await tx('credentials')
    .insert({ user_id: id, password_hash: passwordHash, updated_at: now })
    .onConflict('user_id')
    .ignore()
  return id
}
