import { StepError } from '../../engine/language/step-error.ts'
import { Credential as CredentialRow, type CredentialPlacement } from '../../models/automation.ts'
import { isUuid } from '../../platform/ids.ts'
import { redactTexts } from '../../platform/security/redact-texts.ts'
import { addMs, HOUR } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import { openSecret } from './seal-secret.ts'

type Request = { url: string; headers: Record<string, string> }

/** A request with its credential, and the names of what only the origin of its URL may receive, in lower case. */
export type AuthorizedRequest = Request & {
  sealedHeaders: string[]
  sealedParameters: string[]
  /** Removes the secret from a response that repeats it, since everyone who can read runs can read it. */
  redact: <T>(value: T) => T
}

const FINAL = { retryable: false }

/**
 * Adds the secret of a credential to a request. Reading the credential at the time of the call makes a new secret
 * effective at once, and keeps it out of definitions, stored calls and step records.
 * @throws StepError `unknown_credential`, `credential_host_refused`, `credential_unreadable`
 */
export async function applyCredential(
  scope: Scope,
  credentialId: string | null | undefined,
  request: Request,
): Promise<AuthorizedRequest> {
  const none = { ...request, sealedHeaders: [], sealedParameters: [], redact: <T>(value: T) => value }
  if (credentialId === null || credentialId === undefined) return none
  const row = isUuid(credentialId) ? await scope.query(CredentialRow).findOne('id', credentialId) : undefined
  if (!row) {
    throw new StepError('unknown_credential', 'The credential does not exist any more. Choose another one', FINAL)
  }
  assertAllowedHost(row, request.url, scope)
  const secret = readSecret(scope, row)
  await recordUse(scope, row)
  const { url, headers, sealedHeaders, sealedParameters, texts } = place(row.placement, secret, request)
  return { url, headers, sealedHeaders, sealedParameters, redact: (value) => redactTexts(value, texts) }
}

/** Returns true if the credential may be sent to the URL. */
export function isAllowedUrl(
  { allowedHosts }: Pick<CredentialRow, 'allowedHosts'>,
  text: string,
  { allowsLoopback }: { allowsLoopback: boolean },
): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, host } = new URL(text)
  return (protocol === 'https:' || allowsLoopback) && allowedHosts.includes(host)
}

/** The text of the error `credential_host_refused`. */
export function describeAllowedHosts({ name, allowedHosts }: Pick<CredentialRow, 'name' | 'allowedHosts'>): string {
  return `The credential "${name}" may only be sent by https to ${allowedHosts.join(', ')}. Add the host to the credential, or change the URL`
}

function assertAllowedHost(row: CredentialRow, url: string, rules: { allowsLoopback: boolean }): void {
  if (isAllowedUrl(row, url, rules)) return
  throw new StepError('credential_host_refused', describeAllowedHosts(row), FINAL)
}

function readSecret(scope: Scope, row: CredentialRow): string {
  try {
    return openSecret(scope, row)
  } catch (cause) {
    const message = `The credential "${row.name}" cannot be decrypted. Set its secret again`
    throw new StepError('credential_unreadable', message, { ...FINAL, cause })
  }
}

/** Written at most once an hour, so that calls do not wait for each other's update. */
async function recordUse(scope: Scope, { id, lastUsedAt }: CredentialRow): Promise<void> {
  const now = scope.now()
  if (lastUsedAt !== null && lastUsedAt > addMs(now, -HOUR)) return
  await scope.query(CredentialRow).findOne('id', id).patch({ lastUsedAt: now })
}

function place(placement: CredentialPlacement, secret: string, { url, headers }: Request) {
  switch (placement.type) {
    case 'bearer':
      return placeInHeader('authorization', `Bearer ${secret}`, [secret])
    case 'basic': {
      const encoded = Buffer.from(`${placement.username}:${secret}`).toString('base64')
      return placeInHeader('authorization', `Basic ${encoded}`, [secret, encoded])
    }
    case 'header':
      return placeInHeader(placement.name.toLowerCase(), secret, [secret])
    case 'query': {
      const target = new URL(url)
      target.searchParams.set(placement.name, secret)
      return { url: target.href, headers, sealedHeaders: [], sealedParameters: [placement.name], texts: [secret] }
    }
  }

  function placeInHeader(name: string, value: string, texts: string[]) {
    return { url, headers: { ...headers, [name]: value }, sealedHeaders: [name], sealedParameters: [], texts }
  }
}
