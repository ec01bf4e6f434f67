import type { ErrorCode } from '../../error-codes/index.ts'
import { sqlFragment, type SqlFragment } from '../../platform/database/statements/statement.ts'
import { ConflictError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'

type RowLimit = {
  code: ErrorCode<409>
  max: number
  noun: string
  table: SqlFragment
  isCounted?: SqlFragment
  /** Advice for the caller, if rows cannot simply be deleted. */
  advice?: string
}

/**
 * The most rows that a workspace may have of what members configure. Each row has a bounded size, and some lists return all
 * of their rows. Contacts, messages and runs have no limit.
 */
const ROW_LIMITS = {
  apiKeys: {
    code: 'too_many_api_keys',
    max: 100,
    noun: 'API keys that are not revoked',
    table: sqlFragment`api_keys`,
    isCounted: sqlFragment`revoked_at is null`,
  },
  broadcasts: {
    code: 'too_many_broadcasts',
    max: 1000,
    noun: 'drafts of broadcasts and scheduled ones',
    table: sqlFragment`broadcasts`,
    isCounted: sqlFragment`status in ('draft', 'scheduled')`,
  },
  channels: { code: 'too_many_channels', max: 100, noun: 'channels', table: sqlFragment`channels` },
  credentials: { code: 'too_many_credentials', max: 200, noun: 'credentials', table: sqlFragment`http_credentials` },
  groups: { code: 'too_many_groups', max: 5000, noun: 'groups', table: sqlFragment`groups` },
  jobs: {
    code: 'too_many_jobs',
    max: 20,
    noun: 'jobs that are queued or running',
    table: sqlFragment`jobs`,
    isCounted: sqlFragment`work_at is not null`,
    advice: 'Wait until one has ended, or cancel one',
  },
  tags: { code: 'too_many_tags', max: 5000, noun: 'tags', table: sqlFragment`tags` },
  templates: { code: 'too_many_templates', max: 10_000, noun: 'templates', table: sqlFragment`templates` },
  tests: { code: 'too_many_tests', max: 2000, noun: 'workflow tests', table: sqlFragment`workflow_tests` },
  tools: { code: 'too_many_tools', max: 200, noun: 'tools of its own', table: sqlFragment`tools` },
  webhookEndpoints: {
    code: 'too_many_webhook_endpoints',
    max: 20,
    noun: 'webhook endpoints',
    table: sqlFragment`webhook_endpoints`,
    isCounted: sqlFragment`deleted_at is null`,
  },
  workflows: { code: 'too_many_workflows', max: 1000, noun: 'workflows', table: sqlFragment`workflows` },
} satisfies Record<string, RowLimit>

/**
 * Checks that a workspace may have further rows of a kind. Concurrent calls may together exceed the limit by what they add.
 * @throws ConflictError with the code of the limit
 */
export async function assertRowLimit(tx: Scope, kind: keyof typeof ROW_LIMITS, added = 1): Promise<void> {
  const { code, max, noun, table, isCounted = sqlFragment`true`, advice }: RowLimit = ROW_LIMITS[kind]
  const [row] = await tx.sql<{ existing: number }>('countLimitedRows')`
    select count(*)::int as existing from (
      select from ${table} where tenant_id = ${tx.tenantId} and ${isCounted} limit ${max}) counted`
  if ((row?.existing ?? 0) + added <= max) return
  throw new ConflictError(code, `A workspace has at most ${max} ${noun}. ${advice ?? 'Delete those that are not used'}`)
}
