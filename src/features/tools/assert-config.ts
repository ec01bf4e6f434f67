import { Credential as CredentialRow, type ToolConfig } from '../../models/automation.ts'
import { UnprocessableError } from '../../platform/errors.ts'
import { assertCallable } from '../../platform/outbound/assert-callable.ts'
import { listLiteralParameters, listLiteralSecrets } from '../../platform/security/literal-secret.ts'
import { REDACTED } from '../../platform/security/redact-texts.ts'
import type { Scope } from '../../scope/scope.ts'
import { describeAllowedHosts, isAllowedUrl } from '../credentials/apply-credential.ts'

/**
 * Checks what the text of a configuration determines. Secrets belong in credentials; a header that an earlier version
 * stored may be kept.
 * @throws InvalidError, UnprocessableError `literal_secret`
 */
export function assertConfig({ url, headers = {} }: ToolConfig, rules: { allowsLoopback: boolean }): void {
  assertCallable(url, 'config.url', rules)
  const added = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== REDACTED))
  const path = listLiteralSecrets(added).map((name) => `config.headers.${name}`)
  if (listLiteralParameters(url).length > 0) path.push('config.url')
  if (path[0] === undefined) return
  const message = 'contains a secret. Store it with POST /api/credentials and set config.credentialId'
  throw new UnprocessableError(
    'literal_secret',
    `${path[0]} ${message}`,
    path.map((one) => ({ path: one, message })),
  )
}

/**
 * Locks the credential of a configuration, which cannot be deleted meanwhile.
 * @throws NotFoundError, UnprocessableError `credential_host_refused`
 */
export async function lockCredential(tx: Scope, { url, credentialId }: ToolConfig): Promise<void> {
  if (credentialId === undefined) return
  const credential = await tx.lock(CredentialRow, credentialId)
  if (isAllowedUrl(credential, url, tx)) return
  throw new UnprocessableError('credential_host_refused', describeAllowedHosts(credential))
}
