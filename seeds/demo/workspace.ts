import type { Knex } from 'knex'
import { Passwords } from '../../src/platform/security/passwords.ts'
import { addMs, DAY } from '../../src/platform/time.ts'
import type { Actor } from '../../src/scope/dependencies.ts'
import { DEMO } from './ids.ts'

const OWNER_NAME = 'Dana Demo'

/** Inserts the workspace, its sandbox channel and its owner, and returns the owner. An existing account is reused. */
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
  return { type: 'user', id: ownerId, name: OWNER_NAME, role: 'owner' }
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
