import { Credential as CredentialRow } from '../../models/automation.ts'
import { toUniqueNameError } from '../../platform/database/unique-name.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { assertRowLimit } from '../counts/assert-row-limit.ts'
import { getCredential } from './queries.ts'
import type { CreateCredential, Credential } from './schema.ts'
import { sealSecret } from './seal-secret.ts'

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
