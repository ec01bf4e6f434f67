import { Credential as CredentialRow } from '../../models/automation.ts'
import type { Scope } from '../../scope/scope.ts'
import type { Credential, CredentialRef } from './schema.ts'

/** Leaves out the sealed secret. */
function toCredential(row: CredentialRow): Credential {
  const { id, name, placement, allowedHosts, lastFour, lastUsedAt, createdAt, updatedAt } = row
  return { id, name, placement, allowedHosts, lastFour, lastUsedAt, createdAt, updatedAt }
}

/** @throws NotFoundError */
export async function getCredential(scope: Scope, { credentialId }: CredentialRef): Promise<Credential> {
  return toCredential(await scope.get(CredentialRow, credentialId))
}

/** Lists the credentials by name. A workspace has few of them. */
export async function listCredentials(scope: Scope): Promise<{ items: Credential[] }> {
  const rows = await scope.query(CredentialRow).orderBy('name')
  return { items: rows.map(toCredential) }
}
