import { equalsTimingSafe } from '../../platform/security/tokens.ts'
import { addMs, MINUTE } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'

const LIFETIME_MS = 5 * MINUTE

type Signer = Pick<SystemScope, 'secrets'>

function sign({ secrets }: Signer, { tenantId, mediaId }: { tenantId: string; mediaId: string }, expires: string) {
  return secrets.authenticate(`${tenantId}/${mediaId}/${expires}`, 'media')
}

/** Builds the address of a file below the public address of this server. Anybody may open it for five minutes. */
export function toMediaUrl(scope: Scope, mediaId: string): string {
  const { tenantId } = scope
  const expires = String(addMs(scope.now(), LIFETIME_MS).getTime())
  const signature = sign(scope, { tenantId, mediaId }, expires)
  return `/media/${tenantId}/${mediaId}?expires=${expires}&signature=${signature}`
}

/** Returns true if an address was signed here and has not expired. */
export function isSignedUrl(
  system: SystemScope,
  { expires, signature, ...address }: { tenantId: string; mediaId: string; expires: string; signature: string },
): boolean {
  return equalsTimingSafe(signature, sign(system, address, expires)) && Number(expires) > system.now().getTime()
}
