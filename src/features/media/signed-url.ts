import { addMs, MINUTE } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'

const LIFETIME_MS = 5 * MINUTE

const PURPOSE = 'media'

type Address = { tenantId: string; mediaId: string; expires: string }

function toSignedText({ tenantId, mediaId, expires }: Address): string {
  return `${tenantId}/${mediaId}/${expires}`
}

/** Builds the address of a file below the public address of this server. Anybody may open it for five minutes. */
export function toMediaUrl(scope: Scope, mediaId: string): string {
  const { tenantId } = scope
  const expires = String(addMs(scope.now(), LIFETIME_MS).getTime())
  const signature = scope.secrets.authenticate(toSignedText({ tenantId, mediaId, expires }), PURPOSE)
  return `/media/${tenantId}/${mediaId}?expires=${expires}&signature=${signature}`
}

/** Returns true if an address was signed here and has not expired. */
export function isSignedUrl(system: SystemScope, { signature, ...address }: Address & { signature: string }): boolean {
  const isSigned = system.secrets.isAuthentic(signature, { text: toSignedText(address), purpose: PURPOSE })
  return isSigned && Number(address.expires) > system.now().getTime()
}
