import { ApiKey as ApiKeyRow } from '../../models/automation.ts'
import { sqlFragment } from '../../platform/database/statements/statement.ts'
import { NotFoundError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import { GRANTS } from '../../trpc/api-scopes.ts'
import type { Page } from '../../trpc/schemas.ts'
import { NEWEST_FIRST, readPage } from '../paging/read-page.ts'
import type { ApiKey, ApiKeyRef, ListApiKeys } from './schema.ts'

/** Lists the keys, newest first, with those that were revoked. */
export async function listApiKeys(scope: Scope, input: ListApiKeys): Promise<Page<ApiKey>> {
  const page = await readPage<ApiKeyRow>(
    scope,
    {
      name: 'listApiKeys',
      from: sqlFragment`api_keys`,
      id: sqlFragment`t.id`,
      conditions: [],
      order: NEWEST_FIRST,
      item: { table: sqlFragment`api_keys`, columns: () => sqlFragment`api_keys.*` },
    },
    input,
  )
  return { ...page, items: page.items.map((row) => toApiKey(row, scope.now())) }
}

/** @throws NotFoundError */
export async function getApiKey(scope: Scope, { apiKeyId }: ApiKeyRef): Promise<ApiKey> {
  const row = await scope.find(ApiKeyRow, apiKeyId)
  if (!row) throw new NotFoundError('API key')
  return toApiKey(row, scope.now())
}

function toApiKey({ grants, knownTo: _knownTo, previousExpiresAt, ...row }: ApiKeyRow, now: Date): ApiKey {
  const isExpired = row.expiresAt !== null && row.expiresAt <= now
  const isPreviousValid = previousExpiresAt !== null && previousExpiresAt > now && row.revokedAt === null
  return {
    ...row,
    scopes: GRANTS.filter((name) => grants.includes(name)),
    status: row.revokedAt ? 'revoked' : isExpired ? 'expired' : 'active',
    previousExpiresAt: isPreviousValid ? previousExpiresAt : null,
  }
}
