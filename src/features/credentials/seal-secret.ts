import type { Credential as CredentialRow } from '../../models/automation.ts'
import type { Scope } from '../../scope/scope.ts'

/** Four characters of a shorter secret would reveal too much of it. */
const SECRET_LENGTH_SHOWN_MIN = 16

/** Context that binds the sealed secret to its row. */
export function sealContext(tenantId: string, id: string): string {
  return `http-credential:${tenantId}:${id}`
}

/** Columns that store a secret. */
export function sealSecret(scope: Scope, id: string, secret: string): Pick<CredentialRow, 'sealedSecret' | 'lastFour'> {
  return {
    sealedSecret: scope.secrets.seal(secret, sealContext(scope.tenantId, id)),
    lastFour: secret.length >= SECRET_LENGTH_SHOWN_MIN ? secret.slice(-4) : null,
  }
}

/** Decrypts the secret. Throws if it was encrypted with another key or for another row. */
export function openSecret(scope: Scope, { id, sealedSecret }: CredentialRow): string {
  return String(scope.secrets.open(sealedSecret, sealContext(scope.tenantId, id)))
}
