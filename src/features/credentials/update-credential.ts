import { isDeepStrictEqual } from 'node:util'
import { Credential as CredentialRow } from '../../models/automation.ts'
import { toUniqueNameError } from '../../platform/database/unique-name.ts'
import { definedFields } from '../../platform/defined-fields.ts'
import { InvalidError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import { getCredential } from './queries.ts'
import type { Credential, UpdateCredential } from './schema.ts'
import { sealSecret } from './seal-secret.ts'

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

function assertSameReceivers(
  existing: CredentialRow,
  { allowedHosts = [], placement = existing.placement }: Pick<UpdateCredential, 'allowedHosts' | 'placement'>,
): void {
  const isKnown = allowedHosts.every((host) => existing.allowedHosts.includes(host))
  if (isKnown && isDeepStrictEqual(placement, existing.placement)) return
  const message = 'is required, because it would be sent to another host or in another place'
  throw new InvalidError(`secret ${message}`, [{ path: 'secret', message }])
}
