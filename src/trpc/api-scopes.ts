/** Rights of an API key. Each procedure that keys may call needs one of them. */
export const API_SCOPES = [
  'contacts:read',
  'contacts:write',
  'contacts:delete',
  'conversations:read',
  'conversations:write',
  'messages:read',
  'messages:write',
  'messages:send',
  'workflows:read',
  'workflows:write',
  'workflows:delete',
  'workflow-webhooks:write',
  'runs:read',
  'runs:write',
  'events:read',
  'events:write',
  'dead-letters:read',
  'dead-letters:write',
  'jobs:read',
  'jobs:write',
  'tags:read',
  'tags:write',
  'tags:delete',
  'groups:read',
  'groups:write',
  'groups:delete',
  'templates:read',
  'templates:write',
  'templates:delete',
  'broadcasts:read',
  'broadcasts:write',
  'broadcasts:delete',
  'broadcasts:send',
  'tools:read',
  'tools:write',
  'tools:delete',
  'credentials:read',
  'credentials:write',
  'credentials:delete',
  'ai-provider:read',
  'ai-provider:write',
  'ai-provider:delete',
  'media:read',
  'media:write',
  'media:delete',
  'channels:read',
  'channels:write',
  'channels:delete',
  'channel-webhooks:read',
  'channel-webhooks:write',
  'webhook-endpoints:read',
  'webhook-endpoints:write',
  'webhook-endpoints:delete',
  'sandbox:write',
  'workspace:read',
  'workspace:write',
  'members:read',
  'audit-events:read',
  'api-keys:read',
  'api-keys:write',
  'api-keys:delete',
] as const

export type ApiScope = (typeof API_SCOPES)[number]

const NOT_READ_ONLY: ReadonlySet<ApiScope> = new Set(['channel-webhooks:read', 'audit-events:read'])

/** Names for several scopes. What a later version adds to a preset, keys with the preset have as well. */
export const SCOPE_PRESETS = {
  full: API_SCOPES,
  // Bodies of webhook calls are for finding errors, and have more than any other answer. Audit events are for admins.
  read_only: API_SCOPES.filter((scope) => scope.endsWith(':read') && !NOT_READ_ONLY.has(scope)),
  send_only: ['messages:send', 'media:write'],
} as const satisfies Record<string, readonly ApiScope[]>

/** Scopes, and presets of several. */
export const GRANTS = ['full', 'read_only', 'send_only', ...API_SCOPES] as const

/** Lists the scopes that are granted by their names or by those of presets. */
export function expandGrants(grants: readonly string[]): ReadonlySet<ApiScope> {
  const names = new Set(grants.flatMap((grant) => (isPreset(grant) ? SCOPE_PRESETS[grant] : [grant])))
  // A later version of this program may have stored other names.
  return new Set(API_SCOPES.filter((scope) => names.has(scope)))
}

export function isPreset(grant: string): grant is keyof typeof SCOPE_PRESETS {
  return Object.hasOwn(SCOPE_PRESETS, grant)
}

/** @throws TypeError for a text that is no scope, which a procedure of ours has declared */
export function toApiScope(text: string): ApiScope {
  const scope = API_SCOPES.find((name) => name === text)
  if (!scope) throw new TypeError(`There is no scope ${text}`)
  return scope
}
