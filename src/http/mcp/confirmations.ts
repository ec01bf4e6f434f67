import { createHash, randomBytes } from 'node:crypto'
import { sortKeys } from '../../platform/sort-keys.ts'
import type { Secrets } from '../../platform/security/secrets.ts'
import { addMs, MINUTE } from '../../platform/time.ts'

/** Time in which a preview may be confirmed. */
const CONFIRM_WITHIN_MS = 10 * MINUTE
const PURPOSE = 'confirmation of a call of an assistant'
/** 128 bits. */
const HASH_LENGTH = 22

/** A call to confirm: who makes it and its exact input. */
export type PreviewedCall = { workspaceId: string; keyId: string; operationId: string; input: object }

/** The parts of a handle: `id` is different for each preview, `shown` the hash of what the preview showed. */
type Handle = { expires: string; id: string; shown: string }

/**
 * Signs a preview. The handle needs no storage: it has the time at which it expires, the hash of what was shown, and a code
 * over both and the call, which only this installation can make.
 */
export function signPreview(
  secrets: Secrets,
  call: PreviewedCall,
  { shown, now }: { shown: unknown; now: Date },
): { handle: string; expiresAt: Date } {
  const expiresAt = addMs(now, CONFIRM_WITHIN_MS)
  const handle = {
    expires: expiresAt.getTime().toString(36),
    id: randomBytes(12).toString('base64url'),
    shown: hashContent(shown),
  }
  const code = secrets.authenticate(toSignedText(call, handle), PURPOSE).slice(0, HASH_LENGTH)
  return { handle: [handle.expires, handle.id, handle.shown, code].join('.'), expiresAt }
}

/** Returns the parts of the handle of exactly this call, before it expires; undefined for any other text. */
export function openHandle(
  secrets: Secrets,
  call: PreviewedCall,
  { text, now }: { text: string; now: Date },
): Handle | undefined {
  const [expires = '', id = '', shown = '', code = '', ...others] = text.split('.')
  const handle = { expires, id, shown }
  const signed = { text: toSignedText(call, handle), purpose: PURPOSE, length: HASH_LENGTH }
  if (others.length > 0 || !secrets.isAuthentic(code, signed)) return undefined
  return Number.parseInt(expires, 36) > now.getTime() ? handle : undefined
}

function toSignedText(call: PreviewedCall, { expires, id, shown }: Handle): string {
  const { workspaceId, keyId, operationId, input } = call
  return JSON.stringify([workspaceId, keyId, operationId, hashContent(input), expires, id, shown])
}

/** Hashes JSON data. The order of names in objects does not count. */
export function hashContent(content: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(sortContent(content)))
    .digest('base64url')
    .slice(0, HASH_LENGTH)
}

/** Returns the data as JSON has it, with the names of objects sorted, whose order models change from call to call. */
export function sortContent<T>(content: T): T {
  return sortKeys(JSON.parse(JSON.stringify(content) ?? 'null'))
}
