import pg from 'pg'
import { getField } from '../fields.ts'

/** Modes that the driver knows. It takes any other one for `verify-full`. */
const SSL_MODES = ['disable', 'no-verify', 'prefer', 'require', 'verify-ca', 'verify-full']

const AUTHORITY = /^(\w+:\/\/(?:[^/?]*@)?)([^/?]*)/

/** The database of DATABASE_URL, or another variable, cannot be used. The message tells the operator what to change, without the password. */
export class DatabaseUrlError extends Error {
  override name = 'DatabaseUrlError'
  readonly problem: string
  constructor(problem: string, cause?: unknown, variable = 'DATABASE_URL') {
    super(`${variable}: ${problem}`, { cause })
    this.problem = problem
  }
}

/** Returns what is wrong with the text of the URL. */
export function findUrlProblem(url: string): string | undefined {
  if (!/^postgres(ql)?:\/\//.test(url)) return 'must start with postgres://'
  const urls = splitHosts(url)
  if (!urls.every(isUrl)) {
    return 'is not a valid URL such as postgres://user:password@host:5432/database. Percent-encode special characters of the password: %23 for #, %2F for /, %3F for ?, %40 for @'
  }
  const { searchParams } = new URL(urls[0] ?? url)
  const sslMode = searchParams.get('sslmode')
  if (sslMode !== null && !SSL_MODES.includes(sslMode)) {
    return `cannot have sslmode=${sslMode}. Use sslmode=verify-full, or sslmode=disable for a connection without TLS`
  }
  const target = searchParams.get('target_session_attrs')
  if (target !== null && !/^(?:read-write|primary)$/.test(target)) {
    return `cannot have target_session_attrs=${target}, because Parley changes data. Use target_session_attrs=read-write`
  }
  const hosts = urls.map((one) => new URL(one).host)
  const repeated = hosts.find((host, index) => hosts.indexOf(host) !== index)
  if (repeated !== undefined) return `names the host ${repeated} twice. Name each server once`
  return undefined
}

function isUrl(url: string): boolean {
  if (!URL.canParse(url)) return false
  const { hostname, pathname, username, search } = new URL(url)
  // A slash or a question mark in the password ends the host, and the rest of the URL moves into the path.
  const isCut = pathname.includes('@') || (username === '' && search.includes('@'))
  return !isCut && (hostname !== '' || !url.includes(','))
}

type Target = { address: string; database: string; user: string }

type Cause = { code: string; message: string; path: string; target: Target }

/** The code of the error if none of several servers is the primary. */
export const NO_PRIMARY = '08001'

/** Causes of a failed connection with the sentence for each, the most specific first. */
const CAUSES: [matches: (cause: Cause) => boolean, describe: (cause: Cause) => string][] = [
  [({ code }) => code === NO_PRIMARY, ({ message }) => `no server of the URL accepts changes: ${message}`],
  [
    ({ message }) => message.includes('unsupported startup parameter'),
    ({ target }) =>
      `the server at ${target.address} is a connection pooler. Set DATABASE_SESSION_URL to the address of PostgreSQL itself`,
  ],
  [
    ({ message }) => message.includes('no encryption'),
    ({ target }) =>
      `the server at ${target.address} does not accept the user "${target.user}" without TLS. Add ?sslmode=verify-full to the URL`,
  ],
  [
    ({ message }) => message.includes('pg_hba.conf'),
    ({ target }) =>
      `the server at ${target.address} does not accept the user "${target.user}" for the database "${target.database}" from this machine. Add an entry to its pg_hba.conf`,
  ],
  [
    ({ code }) => code === '28P01' || code === '28000',
    ({ target }) =>
      `the server at ${target.address} rejected the user "${target.user}" or the password. Correct the user and the password in the URL`,
  ],
  [
    ({ message }) => message.includes('client password must be'),
    ({ target }) =>
      `the server at ${target.address} requires a password for the user "${target.user}". Add it to the URL: postgres://user:password@host:5432/database`,
  ],
  [
    ({ code }) => code === '3D000',
    ({ target }) =>
      `the server at ${target.address} has no database "${target.database}". Create it, or correct its name in the URL`,
  ],
  [
    ({ code, path }) => path !== '' && code !== 'ECONNREFUSED' && !path.includes('.s.PGSQL.'),
    ({ code, path }) => `the file ${path}, which the URL names, cannot be read (${code}). Correct its path`,
  ],
  [
    ({ code }) => code === 'ECONNREFUSED' || code === 'ENOENT',
    ({ target }) =>
      `no server accepts connections at ${target.address}. Start PostgreSQL, or correct the host and the port in the URL`,
  ],
  [
    ({ code }) => code === 'ENOTFOUND' || code === 'EAI_AGAIN',
    ({ target }) => `the host of ${target.address} is unknown. Correct its name in the URL`,
  ],
  [
    ({ code, message }) => /^(?:ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/.test(code) || /timeout e\w+/.test(message),
    ({ target }) =>
      `the server at ${target.address} does not answer. Check the host and the port in the URL, and the firewalls`,
  ],
  [
    ({ message }) => message.includes('does not support SSL'),
    ({ target }) =>
      `the server at ${target.address} does not support TLS. Remove sslmode from the URL, or enable TLS on the server`,
  ],
  [
    ({ code }) => /CERT|^UNABLE_TO_|^ERR_TLS_/.test(code),
    ({ code, target }) =>
      `the certificate of the server at ${target.address} is not trusted (${code}). Name its CA certificate in the URL: sslrootcert=/path/to/ca.pem`,
  ],
  [
    ({ code, message }) => code === 'ECONNRESET' || message.includes('Connection terminated unexpectedly'),
    ({ target }) =>
      `the server at ${target.address} closes the connection. Check that the port in the URL is the one of PostgreSQL`,
  ],
  [
    ({ code }) => code === '57P03' || code === '53300',
    ({ message, target }) => `the server at ${target.address} does not accept connections now: ${message}. Try again`,
  ],
  [
    ({ code }) => code === '42501',
    ({ target }) =>
      `the user "${target.user}" may not create tables in the database "${target.database}". Make it the owner of the database`,
  ],
  [
    ({ code }) => code === '25006',
    ({ target }) => `the server at ${target.address} is read-only. Use the address of the primary server`,
  ],
]

/** Converts a failure at the start to an error for the operator; returns any other error as it is. */
export function toDatabaseUrlError(error: unknown, url: string, variable?: string): unknown {
  const cause: Cause = {
    code: readText(error, 'code'),
    message: readText(error, 'message'),
    path: readText(error, 'path') || (/open '(.*)'$/.exec(readText(error, 'message'))?.[1] ?? ''),
    target: toTarget(url),
  }
  const [, describe] = CAUSES.find(([matches]) => matches(cause)) ?? []
  return describe ? new DatabaseUrlError(describe(cause), error, variable) : error
}

function readText(error: unknown, name: string): string {
  const value = getField(error, name)
  return typeof value === 'string' ? value : ''
}

/** Returns the server, the database and the user as the driver understands the URL, with its defaults. */
export function toTarget(url: string): Target {
  const urls = splitHosts(url)
  const targets = urls.map(parseTarget)
  return { database: '', user: '', ...targets[0], address: targets.map(({ address }) => address).join(', ') }
}

function parseTarget(url: string): Target {
  try {
    const { host, port, database = '', user = '' } = new pg.Client({ connectionString: url })
    return { address: host.startsWith('/') ? host : `${host}:${port}`, database, user }
  } catch {
    const { host, pathname, username } = new URL(url)
    return { address: host, database: pathname.slice(1), user: username }
  }
}

/** Splits a URL with several hosts into one URL for each, in order. A URL with one host is returned as it is. */
export function splitHosts(url: string): string[] {
  const [authority = '', credentials = '', hosts = ''] = AUTHORITY.exec(url) ?? []
  if (!hosts.includes(',')) return [url]
  return hosts.split(',').map((host) => credentials + host + url.slice(authority.length))
}
