import { Credential as CredentialRow } from '../../models/automation.ts'
import { ConflictError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import type { CredentialRef } from './schema.ts'

const USERS_LISTED_MAX = 10

type User = { id: string; name: string }

/**
 * Deletes a credential that nothing uses: no tool, and no draft or published version of a workflow that is not archived.
 * Runs of older versions fail with `unknown_credential` at the steps that use it.
 * @throws ConflictError `credential_in_use`
 */
export function deleteCredential(scope: Scope, { credentialId }: CredentialRef): Promise<Record<string, never>> {
  return scope.transaction(async (tx) => {
    const { id } = await tx.lock(CredentialRow, credentialId)
    const tools = await listTools(tx, id)
    const workflows = await listWorkflows(tx, id)
    if (tools.length + workflows.length > 0) {
      const names = [...tools, ...workflows].map(({ name }) => `"${name}"`).join(', ')
      const message = `The credential is used by ${names}. Remove it there first, and publish these workflows again`
      throw new ConflictError('credential_in_use', message, { tools, workflows })
    }
    await tx.query(CredentialRow).delete().where('id', id)
    return {}
  })
}

function listTools(tx: Scope, credentialId: string): Promise<User[]> {
  return tx.sql<User>('listTools')`
    select id, name from tools where tenant_id = ${tx.tenantId} and config ->> 'credentialId' = ${credentialId}
     order by name limit ${USERS_LISTED_MAX}`
}

/** The ID of a credential is in a definition at most as the `credentialId` of a step, so its text is searched. */
function listWorkflows(tx: Scope, credentialId: string): Promise<User[]> {
  return tx.sql<User>('listWorkflows')`
    select w.id, w.name from workflows w
     left join workflow_versions v on v.tenant_id = ${tx.tenantId} and v.workflow_id = w.id and v.version = w.version
     where w.tenant_id = ${tx.tenantId} and w.status <> 'archived'
       and (w.draft::text ilike ${`%${credentialId}%`} or v.definition::text ilike ${`%${credentialId}%`})
     order by w.name limit ${USERS_LISTED_MAX}`
}
