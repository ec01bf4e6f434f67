/** A call with the values of the form, which may be incomplete. */
export type Call = {
  origin: string
  method: string
  /** The path with its parameters in braces. */
  path: string
  /** The procedure for clients of tRPC, and its kind. */
  procedure: { name: string; kind: string } | undefined
  access: 'key' | 'session' | 'public'
  workspaceId: string
  parameters: { name: string; in: string; type: string; value: string }[]
  contentType: string | undefined
  body: string
}

/** Returns the path and the query. A parameter without a value is left out; a list has one value a line. */
export function toPath({ path, parameters }: Call): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    return encodeURIComponent(
      parameters.find((parameter) => parameter.in === 'path' && parameter.name === name)?.value ?? '',
    )
  })
  const query = parameters
    .filter((parameter) => parameter.in === 'query' && parameter.value !== '')
    .flatMap(({ name, type, value }) => (type === 'array' ? listLines(value) : [value]).map((one) => [name, one]))
  return query.length > 0 ? `${filled}?${new URLSearchParams(query)}` : filled
}

/** Lists the headers that the form sets. */
export function listHeaders({ parameters, contentType }: Call): [name: string, value: string][] {
  const set = parameters.filter((parameter) => parameter.in === 'header' && parameter.value !== '')
  const type: [string, string][] = contentType === undefined ? [] : [['content-type', contentType]]
  return [...set.map(({ name, value }): [string, string] => [name, value]), ...type]
}

/** Secrets are variables of the environment, so that they are in no history of a shell. */
export function toCurl(call: Call): string {
  const isJson = call.contentType === 'application/json'
  const access = {
    key: [`-H "Authorization: Bearer $PARLEY_API_KEY"`],
    session: [
      `-b "session_token=$PARLEY_SESSION"`,
      ...(call.workspaceId ? [`-H ${quote(`x-tenant-id: ${call.workspaceId}`)}`] : []),
    ],
    public: [],
  }[call.access]
  const headers = listHeaders(call).filter(([name]) => !isJson || name !== 'content-type')
  const method = call.method.toUpperCase()
  const isImplied = method === 'GET' || (method === 'POST' && call.contentType !== undefined)
  const parts = [
    `curl ${isImplied ? '' : `-X ${method} `}${quote(call.origin + toPath(call))}`,
    ...access,
    ...headers.map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`),
    ...(call.contentType === undefined ? [] : [isJson ? `--json ${quote(compact(call.body))}` : '--data-binary @file']),
  ]
  return parts.join(' \\\n  ')
}

export function toFetch(call: Call): string {
  const access = {
    key: ['authorization: `Bearer ${process.env.PARLEY_API_KEY}`'],
    session: call.workspaceId ? [`'x-tenant-id': '${call.workspaceId}'`] : [],
    public: [],
  }[call.access]
  const headers = [...access, ...listHeaders(call).map(([name, value]) => `${toKey(name)}: ${toLiteral(value)}`)]
  const value = parse(call.body)
  const body = call.contentType === 'application/json' ? `JSON.stringify(${toLiteral(value ?? {}, '  ')})` : 'file'
  const options = [
    ...(call.method === 'get' ? [] : [`method: '${call.method.toUpperCase()}'`]),
    ...(call.access === 'session' ? [`credentials: 'include'`] : []),
    ...(headers.length > 0 ? [`headers: { ${headers.join(', ')} }`] : []),
    ...(call.contentType === undefined ? [] : [`body: ${body}`]),
  ]
  const url = toLiteral(call.origin + toPath(call))
  const list = options.map((option) => `  ${option},\n`).join('')
  return `const response = await fetch(${url}${list && `, {\n${list}}`})\nconsole.log(response.status, await response.text())`
}

/** Returns undefined for an operation that clients of tRPC cannot call. */
export function toTrpc(call: Call): string | undefined {
  if (!call.procedure) return undefined
  const { name, kind } = call.procedure
  const target = `parley${name
    .split('.')
    .map((part) => (IDENTIFIER.test(part) ? `.${part}` : `['${part}']`))
    .join('')}`
  const isStream = kind === 'subscription'
  const values = call.parameters.filter((parameter) => parameter.in !== 'header' && parameter.value !== '')
  const fields = Object.fromEntries(values.map(({ name: field, type, value }) => [field, toValue(type, value)]))
  const streamInput =
    parse(call.parameters.find((parameter) => parameter.name === 'input')?.value ?? '')?.['json'] ?? {}
  const input: unknown = isStream
    ? streamInput
    : { ...fields, ...(call.contentType === 'application/json' ? parse(call.body) : {}) }
  const isEmpty = JSON.stringify(input) === '{}'
  const text = isEmpty ? '' : toLiteral(input)
  if (isStream) return `${target}.subscribe(${text || '{}'}, { onData: (item) => console.log(item) })`
  return `const result = await ${target}.${kind === 'query' ? 'query' : 'mutate'}(${text})`
}

function toValue(type: string, value: string): unknown {
  if (type === 'integer' || type === 'number') return Number(value)
  if (type === 'boolean') return value === 'true'
  return type === 'array' ? listLines(value) : value
}

function listLines(value: string): string[] {
  return value.split('\n').filter((line) => line !== '')
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns a body on one line; one that is no JSON as it is. */
function compact(body: string): string {
  const value = parse(body)
  return value === undefined ? body : JSON.stringify(value)
}

function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/

function toKey(name: string): string {
  return IDENTIFIER.test(name) ? name : toLiteral(name)
}

const LINE_MAX = 80

/** Writes a value as a literal of TypeScript. */
function toLiteral(value: unknown, indent = ''): string {
  if (typeof value === 'string')
    return `'${JSON.stringify(value)
      .slice(1, -1)
      .replaceAll(String.raw`\"`, '"')
      .replaceAll("'", String.raw`\'`)}'`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const inner = `${indent}  `
  const isList = Array.isArray(value)
  const parts = isList
    ? value.map((item) => toLiteral(item, inner))
    : Object.entries(value).map(([name, field]) => `${toKey(name)}: ${toLiteral(field, inner)}`)
  const [open, close] = isList ? ['[', ']'] : ['{', '}']
  if (parts.length === 0) return open + close
  const line = isList ? `[${parts.join(', ')}]` : `{ ${parts.join(', ')} }`
  if (line.length <= LINE_MAX && !line.includes('\n')) return line
  return `${open}\n${parts.map((part) => `${inner}${part},\n`).join('')}${indent}${close}`
}
