import { createTRPCClient, httpBatchLink } from '@trpc/client'
import superjson from 'superjson'
import { type App, createApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import { createAccount } from '../../src/features/auth/sign-up.ts'
import { Passwords } from '../../src/platform/security/passwords.ts'
import { closeDatabase, type Database, openDatabase } from '../../src/platform/database/database.ts'
import type { Logger } from '../../src/platform/log.ts'
import { migrate } from '../../src/platform/database/migrate.ts'
import type { AppRouter } from '../../src/router.ts'
import type { Clock } from '../../src/platform/time.ts'
import type { SystemScope } from '../../src/scope/system-scope.ts'
import { TestClock } from './clock.ts'
import { parseOutputs } from './parse-outputs.ts'
import { createCheckedLogger } from './log-canaries.ts'
import { cloneDatabase } from './postgres.ts'
import './statements.ts'
import { createTempDir } from './temp-dir.ts'
import { waitUntil } from './wait-until.ts'
import { drainWork } from './work.ts'

export type TestSession = { cookie: string; tenantId: string; userId: string; email: string; password: string }

export type ApiResponse = {
  status: number
  headers: Headers
  /** Parsed JSON, or the text of a response that is not JSON. */
  body: any // oxlint-disable-line no-explicit-any -- tests read responses of every shape
}

export type RequestOptions = {
  body?: unknown
  session?: TestSession | undefined
  headers?: Record<string, string>
}

/** All lines are checked for personal data; TEST_LOG=1 prints them too. */
const LOG = createCheckedLogger(process.env['TEST_LOG'] === '1' ? (line) => process.stdout.write(line) : undefined)

/** Migrates the database that all test databases are copied from. */
async function prepareTemplate(url: string): Promise<void> {
  await migrate(url, LOG)
}

parseOutputs()

/** A test may hold locks for any time, also on a busy machine. */
export const HOLDS_LOCKS = 'set idle_in_transaction_session_timeout = 0'

const PASSWORD = 'correct horse battery'
let passwordHash: Promise<string> | undefined

let nextAddress = 0

/** A new client address, so that requests share no rate limit unless a test wants them to. */
export function newAddress(): string {
  nextAddress += 1
  return `10.${(nextAddress >> 16) & 255}.${(nextAddress >> 8) & 255}.${nextAddress & 255}`
}

/** The session cookie that a response sets, as a `Cookie` header; empty if it sets none. */
export function readSessionCookie({ headers }: { headers: Headers }): string {
  return headers.getSetCookie().at(-1)?.split(';')[0] ?? ''
}

/** The complete application on its own database, with a clock that only the test advances. */
export class TestApp {
  readonly clock: TestClock
  readonly databaseUrl: string
  /** Folder of the stored files. */
  readonly dataDir: string
  readonly #app: App
  /** Has connections of its own, as the statements of tests are not those of the application. */
  readonly system: SystemScope
  readonly #testDatabase: Database
  readonly #drop: () => Promise<void>

  constructor(
    app: App,
    clock: TestClock,
    { databaseUrl, dataDir }: { databaseUrl: string; dataDir: string },
    drop: () => Promise<void>,
  ) {
    this.#app = app
    this.#testDatabase = openDatabase(databaseUrl, { name: 'tests', prepareSession: HOLDS_LOCKS })
    this.system = withDatabase(app.system, this.#testDatabase)
    this.dataDir = dataDir
    this.clock = clock
    this.databaseUrl = databaseUrl
    this.#drop = drop
  }

  get url(): string {
    if (this.#app.url === undefined) throw new Error('This app does not serve HTTP')
    return this.#app.url
  }

  /** The address of the server of metrics, if `METRICS_PORT` is set. */
  get metricsUrl(): string | undefined {
    return this.#app.metricsUrl
  }

  async rest(method: string, path: string, { body, session, headers = {} }: RequestOptions = {}): Promise<ApiResponse> {
    const response = await fetch(this.url + path, {
      method,
      redirect: 'manual',
      headers: {
        'x-forwarded-for': newAddress(),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(session ? { cookie: session.cookie, 'x-tenant-id': session.tenantId } : {}),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.includes('/json')
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
  }

  /** A typed tRPC client, as a frontend uses it. */
  client(session?: TestSession, headers: Record<string, string> = {}, prefix = '/api/trpc') {
    return createTRPCClient<AppRouter>({
      links: [
        httpBatchLink({
          url: `${this.url}${prefix}`,
          transformer: superjson,
          headers: () => ({
            'x-forwarded-for': newAddress(),
            ...(session ? { cookie: session.cookie, 'x-tenant-id': session.tenantId } : {}),
            ...headers,
          }),
        }),
      ],
    })
  }

  /**
   * Creates a user who owns a new workspace, as a sign-up does. The password is hashed once for all of them: each hash would
   * take longer than most tests.
   */
  async signUp(name = 'Ada'): Promise<TestSession> {
    const address = newAddress()
    const email = `user-${address}@parley.example`
    const headers = new Headers()
    const { user, workspaces } = await createAccount(
      {
        system: this.system,
        caller: null,
        client: { ipAddress: address, addressKey: address, userAgent: null },
        setHeader: (field, value) => headers.append(field, value),
      },
      { name, email },
      await (passwordHash ??= new Passwords().hash(PASSWORD)),
    )
    const [workspace] = workspaces
    if (!workspace) throw new Error('The new user has no workspace')
    return {
      cookie: readSessionCookie({ headers }),
      tenantId: workspace.id,
      userId: user.id,
      email,
      password: PASSWORD,
    }
  }

  /** Signs up a new user and adds them to an existing workspace. */
  async join(tenantId: string, role: 'admin' | 'agent' | 'viewer'): Promise<TestSession> {
    const session = await this.signUp(role)
    await this.system
      .db('memberships')
      .insert({ workspace_id: tenantId, user_id: session.userId, role, created_at: this.clock.now() })
    return { ...session, tenantId }
  }

  /** Runs background work until nothing is due at the current time of the clock. */
  work(): Promise<void> {
    return drainWork(this.system, () => this.#app.isIdle())
  }

  /** Lists the tasks and keys of the jobs that wait in the queue, in order, once all that were enqueued are there. */
  async listWaitingJobs(): Promise<string[]> {
    await waitUntil(() => this.#app.isIdle())
    const { rows } = await this.system.db.raw<{ rows: { job: string }[] }>(
      `select task || ':' || key as job from wakeups order by job`,
    )
    return rows.map(({ job }) => job)
  }

  async removeWaitingJobs(): Promise<void> {
    await waitUntil(() => this.#app.isIdle())
    await this.system.db('wakeups').delete()
  }

  async stop(drainMs = 1000): Promise<void> {
    await this.#app.stop(drainMs)
    await closeDatabase(this.#testDatabase)
    await this.#drop()
  }
}

/** Returns the scope with another database for what is not executed through its methods. */
function withDatabase(system: SystemScope, db: Database): SystemScope {
  return new Proxy(system, {
    get(target, key) {
      if (key === 'db') return db
      const value: unknown = Reflect.get(target, key)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

type Environment = Record<string, string>

/**
 * Starts the application. `environment` overrides its configuration, or derives it from the URL of the database; a clock
 * replaces the one of the test.
 */
export async function startTestApp(
  environment: Environment | ((databaseUrl: string) => Promise<Environment>) = {},
  customClock?: Clock,
  log: Logger = LOG,
): Promise<TestApp> {
  const database = await cloneDatabase(prepareTemplate)
  const folder = createTempDir()
  const clock = new TestClock()
  const config = loadConfig({
    PORT: '0',
    DATABASE_URL: database.url,
    SECRET_KEY: 'ab'.repeat(32),
    TRUSTED_PROXIES: '127.0.0.1/32,::1/128',
    LOG_LEVEL: 'silent',
    DATA_DIR: folder.path,
    // The process of the tests also does other work.
    EVENT_LOOP_LAG_MAX_MS: '60000',
    // The disk of the machine may be almost full.
    DISK_FREE_MIN_MB: '0',
    ...(typeof environment === 'function' ? await environment(database.url) : environment),
  })
  return new TestApp(
    await createApp(config, { log, clock: customClock ?? clock }),
    clock,
    { databaseUrl: database.url, dataDir: config.dataDir },
    async () => {
      await database.drop()
      await folder.remove()
    },
  )
}
