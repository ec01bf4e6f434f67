import { isDeepStrictEqual } from 'node:util'
import { Credential as CredentialRow } from '../../models/automation.ts'
import { toUniqueNameError } from '../../platform/database/unique-name.ts'
import { definedFields } from '../../platform/fields.ts'
import { ConflictError, InvalidError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { assertRowLimit } from '../counts/assert-row-limit.ts'
import { getCredential } from './queries.ts'
import type { CreateCredential, Credential, CredentialRef, UpdateCredential } from './schema.ts'
import { sealSecret } from './seal-secret.ts'

const USERS_LISTED_MAX = 10

type User = { id: string; name: string }

/** @throws ConflictError `name_taken`, `too_many_credentials` */
export function createCredential(scope: Scope, { secret, ...columns }: CreateCredential): Promise<Credential> {
  return toUniqueNameError('credential', () =>
    scope.transaction(async (tx) => {
      await assertRowLimit(tx, 'credentials')
      const credentialId = newId()
      const now = tx.now()
      await tx.query(CredentialRow).insert({
        ...columns,
        ...sealSecret(tx, credentialId, secret),
        id: credentialId,
        createdAt: now,
        updatedAt: now,
      })
      return getCredential(tx, { credentialId })
    }),
  )
}

/**
 * Changes a credential; a new secret is used from the next call on. New hosts and another placement require the secret:
 * otherwise, an admin who does not know it could send it elsewhere.
 * @throws InvalidError, ConflictError `name_taken`
 */
export function updateCredential(
  scope: Scope,
  { credentialId, secret, ...columns }: UpdateCredential,
): Promise<Credential> {
  return toUniqueNameError('credential', () =>
    scope.transaction(async (tx) => {
      const existing = await tx.lock(CredentialRow, credentialId)
      tx.audit?.compareWith(existing)
      if (secret === undefined) assertSameReceivers(existing, columns)
      await tx
        .query(CredentialRow)
        .findOne('id', credentialId)
        .patch({
          ...definedFields(columns),
          ...(secret === undefined ? {} : sealSecret(tx, credentialId, secret)),
          updatedAt: tx.now(),
        })
      return getCredential(tx, { credentialId })
    }),
  )
}

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

function assertSameReceivers(
  existing: CredentialRow,
  { allowedHosts = [], placement = existing.placement }: Pick<UpdateCredential, 'allowedHosts' | 'placement'>,
): void {
  const isKnown = allowedHosts.every((host) => existing.allowedHosts.includes(host))
  if (isKnown && isDeepStrictEqual(placement, existing.placement)) return
  const message = 'is required, because it would be sent to another host or in another place'
  throw new InvalidError(`secret ${message}`, [{ path: 'secret', message }])
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
