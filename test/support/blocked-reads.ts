import pg from 'pg'
import { waitUntil } from './wait-until.ts'

const LOCK = 4_711

/**
 * Makes the reads of one workspace's contacts wait, as those of a large workspace do, until `release` is called. A row
 * security policy waits for an advisory lock that this connection holds.
 */
export class BlockedReads {
  readonly #client: pg.Client
  readonly #database: string
  #isReleased = false

  private constructor(client: pg.Client, database: string) {
    this.#client = client
    this.#database = database
  }

  /** The workspace needs a contact, because policies are checked for rows. */
  static async start(databaseUrl: string, tenantId: string): Promise<BlockedReads> {
    const client = new pg.Client({ connectionString: databaseUrl, application_name: 'test lock' })
    await client.connect()
    await client.query('select pg_advisory_lock($1)', [LOCK])
    await client.query(
      `create or replace function wait_for_test() returns boolean language plpgsql volatile as
       $$ begin perform pg_advisory_xact_lock_shared(${LOCK}); return true; end $$`,
    )
    await client.query('drop policy if exists wait_for_test on contacts')
    await client.query(
      `create policy wait_for_test on contacts
       using (case when tenant_id = '${tenantId}' then wait_for_test() else true end)`,
    )
    await client.query('alter table contacts enable row level security')
    await client.query('alter table contacts force row level security')
    return new BlockedReads(client, new URL(databaseUrl).pathname.slice(1))
  }

  /** Counts the statements that wait in the database. */
  async count(): Promise<number> {
    const { rows } = await this.#client.query<{ count: string }>(
      `select count(*) as count from pg_stat_activity
       where datname = $1 and wait_event_type = 'Lock' and state = 'active'`,
      [this.#database],
    )
    return Number(rows[0]?.count)
  }

  /** Resolves when exactly `count` statements wait. */
  waitForCount(count: number): Promise<void> {
    return waitUntil(async () => (await this.count()) === count)
  }

  /** Lets the reads proceed. May be called more than once. */
  async release(): Promise<void> {
    if (this.#isReleased) return
    this.#isReleased = true
    await this.#client.query('select pg_advisory_unlock_all()')
    await this.#client.query('alter table contacts no force row level security')
    await this.#client.query('alter table contacts disable row level security')
    await this.#client.end()
  }
}
