import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { purgeExpiredSessions } from '../../../src/features/auth/sessions/purge-expired-sessions.ts'
import { purgeEvents } from '../../../src/features/events/purge-events.ts'
import { purgeEvaluations } from '../../../src/features/explanations/list-trigger-evaluations.ts'
import { purgeUnattachedStatuses } from '../../../src/features/outbound/statuses/attach-early-statuses.ts'
import { purgeWebhooks } from '../../../src/features/provider-webhooks/keep-webhooks.ts'
import {
  purgeApiKeys,
  purgeDeletedMessageIds,
  purgeIdempotencyKeys,
} from '../../../src/features/retention/purge-rows.ts'
import { purgeThrottleWindows } from '../../../src/features/external-calls/throttle-windows.ts'
import { newId } from '../../../src/platform/ids.ts'
import { addMs, DAY } from '../../../src/platform/time.ts'
import type { SystemScope } from '../../../src/scope/system-scope.ts'
import { buildChannel, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { CITUS_URL } from '../../support/postgres.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const PORTION = 3
const ROWS = 8

type Purge = (system: SystemScope) => Promise<void>
const PURGES: Record<string, Purge> = {
  events: purgeEvents,
  trigger_evaluations: purgeEvaluations,
  channel_webhooks: purgeWebhooks,
  message_statuses: purgeUnattachedStatuses,
  idempotency_keys: purgeIdempotencyKeys,
  throttle_windows: purgeThrottleWindows,
  deleted_message_ids: purgeDeletedMessageIds,
  api_keys: purgeApiKeys,
  sessions: purgeExpiredSessions,
  password_resets: purgeExpiredSessions,
  known_addresses: purgeExpiredSessions,
}
const API_KEY = { name: 'K', last_four: 'x7Kq', grants: [], limit_per_minute: 1, created_by: {}, known_to: [] }
const OF_CHANNELS = new Set(['channel_webhooks', 'message_statuses'])

describe('purges of old rows', () => {
  let app: TestApp
  let workspaces: WorkspaceClient[]
  let channels: string[]

  before(async () => {
    app = await startTestApp()
    app.system.portions.purge = PORTION
    workspaces = [await buildWorkspace(app), await buildWorkspace(app)]
    channels = await Promise.all(workspaces.map(async (workspace) => (await buildChannel(workspace)).id))
    // Distributed tables have no triggers.
    if (CITUS_URL === undefined) await limitStatements()
  })

  /** Lets statements fail that delete more rows than a portion. */
  async function limitStatements(): Promise<void> {
    await app.system.db.raw(`
      create function limit_purge() returns trigger language plpgsql as $$ begin
        if (select count(*) from gone) > ${PORTION} then raise exception 'too many rows in one statement'; end if;
        return null;
      end $$`)
    for (const table of Object.keys(PURGES)) {
      await app.system.db.raw(`create trigger limit_purge after delete on ${table}
        referencing old table as gone for each statement execute function limit_purge()`)
    }
  }

  after(() => app.stop())

  function buildRows(table: string, at: Date): object[] {
    const [id, key] = [newId(), randomBytes(32)]
    const user = workspaces[0]?.userId
    const byTenant: Record<string, object> = {
      events: { id, type: 'test.event', data: {}, created_at: at },
      trigger_evaluations: { id, event: {}, evaluations: '[]', created_at: at },
      channel_webhooks: { id, body: key, status: 'processed', attempts: 1, created_at: at },
      message_statuses: { id, provider_message_id: id, status: 'sent', provider_at: at, created_at: at },
      idempotency_keys: { route: 'r', key: id, request_hash: key, created_at: at },
      throttle_windows: { key, count: 1, ends_at: at },
      deleted_message_ids: { hash: key, expires_at: at },
      api_keys: { ...API_KEY, id, revoked_at: at },
    }
    const bySystem: Record<string, object> = {
      sessions: { id, user_id: user, token_hash: key, created_at: at, renewed_at: at, expires_at: at },
      password_resets: { user_id: user, token_hash: key, created_at: at, expires_at: at },
      known_addresses: { user_id: user, address_hash: key, seen_at: at },
    }
    const row = byTenant[table]
    if (!row) return [bySystem[table] ?? {}]
    return workspaces.map(({ tenantId }, index) => ({
      tenant_id: tenantId,
      ...(OF_CHANNELS.has(table) && { channel_id: channels[index] }),
      ...row,
    }))
  }

  for (const [table, purge] of Object.entries(PURGES)) {
    it(`deletes old rows of ${table} in statements of bounded size and keeps the others`, async () => {
      const { db } = app.system
      const old = addMs(app.clock.now(), -400 * DAY)
      const before = await db(table)
      for (let n = 0; n < ROWS; n += 1) await db(table).insert(buildRows(table, old))
      await db(table).insert(buildRows(table, addMs(app.clock.now(), DAY)))
      const kept = buildRows(table, old).length
      await purge(app.system)
      expect(await db(table)).to.have.lengthOf(before.length + kept)
    })
  }
})
