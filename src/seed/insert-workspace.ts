import type { Knex } from 'knex'
import { Passwords } from '../platform/security/passwords.ts'
import type { Actor } from '../scope/dependencies.ts'
import { toSeedId } from './seed-id.ts'

export type Account = { email: string; name: string; password: string }

export type NewWorkspace = {
  id: string
  name: string
  timezone?: string
  language?: string
  country?: string
  owner: Account
  createdAt: Date
}

/** Inserts a workspace with its owner and a sandbox channel. An account with the address of the owner is used as it is. */
export async function insertWorkspace(
  tx: Knex,
  { owner, createdAt, ...workspace }: NewWorkspace,
): Promise<{ owner: Actor; sandboxId: string }> {
  const times = { created_at: createdAt, updated_at: createdAt }
  const ownerId = await ensureUser(tx, owner, createdAt)
  const sandboxId = toSeedId(workspace.id, 'sandbox')
  await tx('workspaces').insert({ ...workspace, ...times })
  await tx('memberships').insert({
    workspace_id: workspace.id,
    user_id: ownerId,
    role: 'owner',
    created_at: createdAt,
  })
  await tx('channels').insert({
    tenant_id: workspace.id,
    id: sandboxId,
    kind: 'sandbox',
    name: 'Sandbox',
    // Slow enough to watch the progress of a broadcast.
    broadcasts_per_second: 10,
    ...times,
  })
  await tx('channel_routes').insert({ channel_id: sandboxId, tenant_id: workspace.id })
  return { owner: { type: 'user', id: ownerId, name: owner.name }, sandboxId }
}

async function ensureUser(tx: Knex, { email, name, password }: Account, createdAt: Date): Promise<string> {
  const existing = await tx('users').where({ email }).first('id')
  if (existing) return existing.id
  const id = toSeedId(email, 'user')
  const times = { created_at: createdAt, updated_at: createdAt }
  await tx('users').insert({ id, email, name, email_verified: true, ...times })
  await tx('credentials').insert({ user_id: id, password_hash: await new Passwords().hash(password) })
  return id
}
