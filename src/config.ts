import { isAbsolute, resolve } from 'node:path'
import { z } from 'zod'
import { findUrlProblem } from './platform/database/database-url.ts'
import type { S3Settings } from './platform/files/s3-store.ts'
import type { TracingSettings } from './platform/tracing/otlp-exporter.ts'
import { ConfigError } from './platform/process/config-error.ts'
import { readEnvFile } from './platform/process/env-file.ts'
import { httpUrl, integer, list } from './platform/process/env-values.ts'

function secretKey(message: string) {
  return z.string().regex(/^[0-9a-f]{64}$/i, message)
}

function hasHost(url: string): boolean {
  return URL.canParse(url) && new URL(url).hostname !== ''
}

const databaseUrl = z.string().superRefine((url, ctx) => {
  const message = findUrlProblem(url)
  if (message !== undefined) ctx.addIssue({ code: 'custom', message })
})

const connections = integer(2, 200)
const timeoutMs = integer(100, 600_000)
const flag = z.stringbool({ truthy: ['true'], falsy: ['false'], error: 'must be true or false' })
/** Converts to bytes; a quota of 0 is none. */
const megabytes = integer(0, 1_000_000_000).transform((value) => value * 1024 ** 2)
const quota = megabytes.transform((bytes) => (bytes === 0 ? Infinity : bytes))

const SAMPLED_PART = 'must be a part of the traces from 0 to 1'

const Environment = z.object({
  HOST: z.string().min(1).default('127.0.0.1'),
  PORT: integer(0, 65535, 'must be a port number').default(3000),
  METRICS_HOST: z.string().min(1).default('127.0.0.1'),
  METRICS_PORT: integer(0, 65535, 'must be a port number').optional(),
  COMMIT: z
    .string()
    .regex(/^[0-9A-Za-z._-]{1,64}$/, 'must be a commit or another name of a build')
    .optional(),
  DATABASE_URL: databaseUrl.optional(),
  DATABASE_SESSION_URL: databaseUrl.optional(),
  MIGRATE_ON_START: flag.optional(),
  DATA_DIR: z.string().min(1).default('.parley'),
  PG_BIN_DIR: z.string().refine(isAbsolute, 'must be an absolute path').optional(),
  REDIS_URL: z
    .string()
    .regex(/^rediss?:\/\//, 'must start with redis:// or rediss://')
    .refine(hasHost, 'must be a URL such as redis://redis.example.com:6379')
    .optional(),
  ROLES: list(
    (message) => z.enum(['http', 'worker'], message),
    'must be http, worker or both, separated by a comma',
  ).default(['http', 'worker']),
  TRUSTED_PROXIES: list(
    (message) => z.union([z.cidrv4(), z.cidrv6()], message),
    'must be CIDRs such as 10.0.0.0/8',
  ).default([]),
  APP_ORIGINS: list(
    (message) => z.string().refine((text) => URL.canParse(text) && new URL(text).origin === text, message),
    'must be origins such as https://app.example.com',
  ).default([]),
  PUBLIC_HOSTS: list(
    (message) =>
      z
        .string()
        .toLowerCase()
        .regex(/^[a-z0-9.-]+$/, message),
    'must be host names such as parley.example.com, without ports',
  ).default([]),
  ALLOW_LOOPBACK_CHANNELS: flag.default(false),
  SECRET_KEY: secretKey('must be 64 hexadecimal digits (openssl rand -hex 32)').optional(),
  SECRET_KEYS: list(
    secretKey,
    'must be keys of 64 hexadecimal digits, separated by commas, the one that encrypts first',
  )
    .refine((keys) => new Set(keys.map((key) => key.toLowerCase())).size === keys.length, 'must not repeat a key')
    .optional(),
  S3_ENDPOINT: httpUrl('must be the address of an S3-compatible service').optional(),
  S3_BUCKET: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be the name of a bucket')
    .optional(),
  S3_REGION: z.string().min(1).default('us-east-1'),
  S3_ACCESS_KEY_ID: z.string().optional(),
  S3_SECRET_ACCESS_KEY: z.string().optional(),
  MEDIA_QUOTA_MB: quota.prefault(20_480),
  WEBHOOK_QUOTA_MB: quota.prefault(4096),
  DISK_FREE_MIN_MB: megabytes.optional(),
  SMTP_URL: z
    .string()
    .regex(/^smtps?:\/\//, 'must start with smtp:// or smtps://')
    .refine(hasHost, 'must be a URL such as smtp://mail.example.com:587')
    .optional(),
  COMPUTE_THREADS: integer(2, 64).default(2),
  DB_REQUESTS_CONNECTIONS: connections.default(8),
  DB_REQUESTS_STATEMENT_TIMEOUT_MS: timeoutMs.default(10_000),
  DB_REQUESTS_ACQUIRE_TIMEOUT_MS: timeoutMs.default(3_000),
  DB_WEBHOOKS_CONNECTIONS: connections.default(4),
  DB_WEBHOOKS_STATEMENT_TIMEOUT_MS: timeoutMs.default(10_000),
  DB_WEBHOOKS_ACQUIRE_TIMEOUT_MS: timeoutMs.default(5_000),
  DB_ENGINE_CONNECTIONS: connections.default(8),
  DB_ENGINE_STATEMENT_TIMEOUT_MS: timeoutMs.default(30_000),
  DB_ENGINE_ACQUIRE_TIMEOUT_MS: timeoutMs.default(20_000),
  DB_BACKGROUND_CONNECTIONS: connections.default(3),
  DB_BACKGROUND_STATEMENT_TIMEOUT_MS: timeoutMs.default(30_000),
  DB_BACKGROUND_ACQUIRE_TIMEOUT_MS: timeoutMs.default(20_000),
  DB_PREPARED_STATEMENTS: flag.default(true),
  DRAIN_DELAY_MS: integer(0, 60_000).default(0),
  EVENT_LOOP_LAG_MAX_MS: integer(50, 60_000).default(1_000),
  LOG_LEVEL: z
    .enum(
      ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
      'must be trace, debug, info, warn, error, fatal or silent',
    )
    .default('info'),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl('must be the address of a receiver of OTLP over HTTP').optional(),
  OTEL_EXPORTER_OTLP_HEADERS: z
    .string()
    .regex(/^[\w-]+=[^,]*(?:,\s*[\w-]+=[^,]*)*$/, 'must be headers such as api-key=secret, separated by a comma')
    .regex(/^(?:[^%]|%[0-7][\da-f])*$/i, 'must be URL-encoded: write %25 for a percent sign')
    .default(''),
  OTEL_SERVICE_NAME: z.string().min(1).default('parley'),
  OTEL_TRACES_SAMPLER_ARG: z.coerce.number(SAMPLED_PART).min(0, SAMPLED_PART).max(1, SAMPLED_PART).default(0.01),
  LOG_FORMAT: z.enum(['auto', 'json', 'pretty'], 'must be auto, json or pretty').default('auto'),
})

export type Config = {
  http: {
    host: string
    port: number
    trustedProxies: string[]
    appOrigins: string[]
    publicHosts: string[]
    /** Requests are rejected while the event loop is later than this. */
    loopLagMaxMs: number
    /** A process that stops serves requests for this long while it is not ready. */
    drainDelayMs: number
  }
  /** The server of metrics and health checks; undefined for none. */
  metrics: { host: string; port: number } | undefined
  /** The commit of the program, if the environment names it. */
  commit: string | undefined
  /** Without a URL the process starts its own Postgres under `dataDir`. */
  database: {
    url: string | undefined
    /** The server behind the pooler to which `url` leads; undefined if it leads to the server. */
    sessionUrl: string | undefined
    /** True if the start applies missing migrations. */
    migratesOnStart: boolean
    binDir: string | undefined
    pools: ReturnType<typeof toPools>
  }
  dataDir: string
  redisUrl: string | undefined
  roles: ('http' | 'worker')[]
  /** True if channels and the calls of workflows may use loopback addresses, for tests and trials. */
  allowsLoopback: boolean
  /** Each is 32 bytes in hexadecimal, the first one encrypts; if undefined, a key is generated and kept in `dataDir`. */
  secretKeys: [string, ...string[]] | undefined
  smtpUrl: string | undefined
  /** Store of files; undefined for a folder in `dataDir`. */
  s3: S3Settings | undefined
  /** Bytes that one workspace may store; Infinity for no limit. */
  quotas: { mediaBytes: number; webhookBytes: number }
  /** Free space of the disk of `dataDir` below which no files are stored; undefined for a part of the disk. */
  diskFreeBytesMin: number | undefined
  /** The number of worker threads for computations over customers' data. */
  computeThreads: number
  /** The receiver of traces; undefined for none. */
  tracing: TracingSettings | undefined
  /** The environment for programs that this process starts. */
  environment: NodeJS.ProcessEnv
  logLevel: z.infer<typeof Environment>['LOG_LEVEL']
  /** `auto`: pretty at a terminal, otherwise JSON. */
  logFormat: z.infer<typeof Environment>['LOG_FORMAT']
}

const S3_VARIABLES = ['S3_ENDPOINT', 'S3_BUCKET', 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY']

/**
 * Returns the variables of the process, and of `.env` in its working directory those which the process does not have.
 * @throws ConfigError
 */
export function readEnvironment(): NodeJS.ProcessEnv {
  const { variables, problems } = readEnvFile('.env')
  if (problems.length > 0) throw new ConfigError(problems)
  return { ...variables, ...process.env }
}

/** @throws ConfigError */
export function loadConfig(environment: NodeJS.ProcessEnv = process.env): Config {
  // An empty variable counts as unset: `REDIS_URL= npm start` must not look for Redis at ''.
  const variables = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''))
  const parsed = Environment.safeParse(variables)
  const problems = parsed.success
    ? []
    : parsed.error.issues.map((issue) => `${issue.path[0]?.toString()}: ${issue.message}`)
  const keys = ['SECRET_KEY', 'SECRET_KEYS'].filter((name) => variables[name] !== undefined)
  if (variables['DATABASE_URL'] !== undefined && keys.length === 0) {
    problems.push(
      'SECRET_KEY: is required with DATABASE_URL (openssl rand -hex 32); all processes must share the same key',
    )
  }
  if (keys.length > 1) problems.push('SECRET_KEY, SECRET_KEYS: set one of them; SECRET_KEYS may have the key of both')
  if (variables['DATABASE_SESSION_URL'] !== undefined && variables['DATABASE_URL'] === undefined) {
    problems.push(
      'DATABASE_SESSION_URL: requires DATABASE_URL, the address of the pooler in front of the same database',
    )
  }
  const missing = S3_VARIABLES.filter((name) => variables[name] === undefined)
  if (missing.length > 0 && missing.length < S3_VARIABLES.length) {
    problems.push(`${missing.join(', ')}: must be set together with the other variables of S3`)
  }
  if (!parsed.success || problems.length > 0) throw new ConfigError(problems)
  const env = parsed.data
  return {
    http: {
      host: env.HOST,
      port: env.PORT,
      trustedProxies: env.TRUSTED_PROXIES,
      appOrigins: env.APP_ORIGINS,
      publicHosts: env.PUBLIC_HOSTS,
      loopLagMaxMs: env.EVENT_LOOP_LAG_MAX_MS,
      drainDelayMs: env.DRAIN_DELAY_MS,
    },
    metrics: env.METRICS_PORT === undefined ? undefined : { host: env.METRICS_HOST, port: env.METRICS_PORT },
    commit: env.COMMIT,
    database: {
      url: env.DATABASE_URL,
      sessionUrl: env.DATABASE_SESSION_URL,
      migratesOnStart: env.MIGRATE_ON_START ?? env.DATABASE_URL === undefined,
      binDir: env.PG_BIN_DIR,
      pools: toPools(env),
    },
    dataDir: resolve(env.DATA_DIR),
    redisUrl: env.REDIS_URL,
    roles: env.ROLES,
    allowsLoopback: env.ALLOW_LOOPBACK_CHANNELS,
    secretKeys: toSecretKeys(env),
    smtpUrl: env.SMTP_URL,
    s3: toS3(env),
    quotas: { mediaBytes: env.MEDIA_QUOTA_MB, webhookBytes: env.WEBHOOK_QUOTA_MB },
    diskFreeBytesMin: env.DISK_FREE_MIN_MB,
    computeThreads: env.COMPUTE_THREADS,
    tracing: toTracing(env),
    environment,
    logLevel: env.LOG_LEVEL,
    logFormat: env.LOG_FORMAT,
  }
}

function toSecretKeys({ SECRET_KEY, SECRET_KEYS = [] }: z.infer<typeof Environment>): Config['secretKeys'] {
  const [first, ...others] = SECRET_KEY === undefined ? SECRET_KEYS : [SECRET_KEY]
  return first === undefined ? undefined : [first, ...others]
}

function toS3(env: z.infer<typeof Environment>): S3Settings | undefined {
  const { S3_ENDPOINT: endpoint, S3_BUCKET: bucket, S3_REGION: region } = env
  const { S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey } = env
  if (!endpoint || !bucket || !accessKeyId || !secretAccessKey) return undefined
  return { endpoint, bucket, region, accessKeyId, secretAccessKey }
}

function toTracing(env: z.infer<typeof Environment>): TracingSettings | undefined {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS: headers } = env
  if (endpoint === undefined) return undefined
  const pairs = headers === '' ? [] : headers.split(',').map((pair) => pair.trim().split(/=(.*)/s))
  return {
    endpoint,
    headers: Object.fromEntries(pairs.map(([name = '', value = '']) => [name, decodeURIComponent(value)])),
    serviceName: env.OTEL_SERVICE_NAME,
    sampledPart: env.OTEL_TRACES_SAMPLER_ARG,
  }
}

function toPools(env: z.infer<typeof Environment>) {
  const toPool = (name: 'REQUESTS' | 'WEBHOOKS' | 'ENGINE' | 'BACKGROUND') => ({
    connections: env[`DB_${name}_CONNECTIONS`],
    statementTimeoutMs: env[`DB_${name}_STATEMENT_TIMEOUT_MS`],
    acquireTimeoutMs: env[`DB_${name}_ACQUIRE_TIMEOUT_MS`],
    preparesStatements: env.DB_PREPARED_STATEMENTS,
  })
  return {
    requests: toPool('REQUESTS'),
    webhooks: toPool('WEBHOOKS'),
    engine: toPool('ENGINE'),
    background: toPool('BACKGROUND'),
  }
}
