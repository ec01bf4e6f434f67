import { Credential as CredentialRow } from '../../models/automation/credential.ts'
import { toUniqueNameError } from '../../platform/database/unique-name.ts'
import { ConflictError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import { CREDENTIALS_MAX, getCredential } from './queries.ts'
import type { CreateCredential, Credential } from './schema.ts'
import { sealSecret } from './seal-secret.ts'

/** @throws ConflictError `name_taken`, `too_many_credentials` */
export function createCredential(scope: Scope, { secret, ...columns }: CreateCredential): Promise<Credential> {
  return toUniqueNameError('credential', () =>
    scope.transaction(async (tx) => {
      const existing = await tx.query(CredentialRow).select('id').limit(CREDENTIALS_MAX)
      if (existing.length === CREDENTIALS_MAX) {
        const message = `A workspace has at most ${CREDENTIALS_MAX} credentials. Delete those that are not used`
        throw new ConflictError('too_many_credentials', message)
      }
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
