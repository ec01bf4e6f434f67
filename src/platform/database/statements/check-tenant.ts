import { isTenantTable } from './tables.ts'

/** Result of `checkTenant`: the numbers of the parameters that must be the tenant, or what is wrong. */
export type TenantCheck = { tenantParameters: number[]; tables: string[]; problem: string | null }

/**
 * Checks that a statement names the tenant as a parameter for each reference to a tenant table: `alias.tenant_id = $n` in
 * its own `where` or `on`, not below an `or`; and as the value of the column `tenant_id` of each inserted row. A column of
 * another table is not enough: a distributed database finds the node of a table by a constant only.
 */
export function checkTenant(sql: string): TenantCheck {
  const check: TenantCheck = { tenantParameters: [], tables: [], problem: null }
  const tokens = tokenize(sql)
  const verb = toText(tokens[0])
  if (!STATEMENTS.has(verb)) check.problem = `starts with "${verb}". Use select, insert, update, delete, values or with`
  checkGroup(tokens, check)
  return check
}

const STATEMENTS = new Set(['select', 'with', 'insert', 'update', 'delete', 'values', '('])
const SET_OPERATIONS = new Set(['union', 'intersect', 'except'])
/** Words that end a list of tables. */
const CLAUSES = new Set(
  'where group having window order limit offset fetch for returning set on select values do'.split(' '),
)
/** Words that follow a table and are no alias. */
const NO_ALIAS = new Set([
  ...CLAUSES,
  ...'as inner left right full cross natural join using union intersect except default tablesample'.split(' '),
])

/** Checks the queries of a group, which are combined by set operations, and those within it. */
function checkGroup(tokens: Token[], check: TenantCheck): void {
  let query: Token[] = []
  for (const token of [...tokens, null]) {
    if (token && !SET_OPERATIONS.has(toText(token))) {
      query.push(token)
      if (token.kind === 'group') checkGroup(token.tokens, check)
      continue
    }
    checkQuery(query, check)
    query = []
  }
}

type Reference = { table: string; alias: string; isInserted: boolean; position: number }

function checkQuery(tokens: Token[], check: TenantCheck): void {
  const references = findReferences(tokens)
  check.tables.push(...references.map(({ table }) => table))
  const read = references.filter(({ isInserted }) => !isInserted)
  const conditions = findConditions(tokens)
  for (const { table, alias, isInserted, position } of references) {
    const parameters = isInserted
      ? findInsertedTenant(tokens.slice(position + 1))
      : conditions.flatMap((condition) => findTenant(condition, alias, read.length === 1))
    if (parameters.length > 0) check.tenantParameters.push(...parameters)
    else if (isInserted) check.problem ??= `inserts into ${table} without a parameter for tenant_id`
    else check.problem ??= `has no condition ${alias}.tenant_id = <the tenant> for table ${table}`
  }
}

function findReferences(tokens: Token[]): Reference[] {
  const references: Reference[] = []
  let isList = false
  let isExpected = false
  for (const [index, token] of tokens.entries()) {
    const text = toText(token)
    const previous = toText(tokens[index - 1])
    if (token.kind === 'word' && isExpected && isTenantTable(text)) {
      const isInserted = previous === 'into'
      references.push({ table: text, alias: readAlias(tokens, index), isInserted, position: index })
    }
    if (text === 'from') isList = previous !== 'distinct'
    else if (text === 'using' || text === 'join') isList = true
    else if (CLAUSES.has(text) && token.kind === 'word' && !(text === 'on' && isList)) isList = false
    isExpected = startsTable(text, previous, isList) || (isExpected && (text === 'only' || text === 'lateral'))
  }
  return references
}

function startsTable(text: string, previous: string, isList: boolean): boolean {
  if (text === 'from') return previous !== 'distinct'
  if (text === 'update') return !['for', 'key', 'do'].includes(previous)
  return ['join', 'into', 'using'].includes(text) || (isList && text === ',')
}

function readAlias(tokens: Token[], index: number): string {
  const next = tokens[index + 1]
  const alias = toText(next) === 'as' ? tokens[index + 2] : next
  return alias?.kind === 'word' && !NO_ALIAS.has(alias.text) ? alias.text : toText(tokens[index])
}

const JOINS = new Set(['join', 'inner', 'left', 'right', 'full', 'cross', 'natural'])

/** Finds the conditions of `where` and of each `on`, without those in which an `or` may bypass the tenant. */
function findConditions(tokens: Token[]): Token[][] {
  const conditions: { tokens: Token[]; isBypassed: boolean }[] = []
  let isCondition = false
  let cases = 0
  for (const token of tokens) {
    const text = token.kind === 'word' ? token.text : ''
    if (text === 'case') cases += 1
    if (text === 'end') cases -= 1
    if (text === 'where' || text === 'on') {
      conditions.push({ tokens: [], isBypassed: false })
      isCondition = true
    } else if (CLAUSES.has(text) || JOINS.has(text)) isCondition = false
    const condition = conditions.at(-1)
    if (!isCondition || !condition) continue
    condition.tokens.push(token)
    if (text === 'or' && cases === 0) condition.isBypassed = true
  }
  return conditions.filter(({ isBypassed }) => !isBypassed).map((condition) => condition.tokens)
}

/** Finds `alias.tenant_id = $n`, or without the alias if no other table has the column. */
function findTenant(condition: Token[], alias: string, isOnly: boolean): number[] {
  for (const [index, token] of condition.entries()) {
    if (toText(token) !== 'tenant_id' || toText(condition[index + 1]) !== '=') continue
    const isQualified = toText(condition[index - 1]) === '.'
    const start = isQualified ? index - 3 : index - 1
    if (isQualified ? toText(condition[index - 2]) !== alias : !isOnly) continue
    const value = condition[index + 2]
    const isPart = ['where', 'and', 'on'].includes(toText(condition[start]))
    if (value?.kind === 'parameter' && isPart) return [Number(value.text)]
  }
  return []
}

/** Finds the parameters of `tenant_id` in `(columns) values (…), (…)` or `(columns) select …`. */
function findInsertedTenant(rest: Token[]): number[] {
  const start = rest.findIndex(({ kind }) => kind === 'group')
  const columns = rest[start]
  if (columns?.kind !== 'group') return []
  const position = splitList(columns.tokens).findIndex(([column]) => toText(column) === 'tenant_id')
  const source = rest.slice(start + 1)
  if (position < 0) return []
  if (toText(source[0]) === 'select') {
    const end = source.findIndex((token) => toText(token) === 'from')
    return readParameters([splitList(source.slice(1, end < 0 ? undefined : end))[position] ?? []])
  }
  if (toText(source[0]) !== 'values') return []
  const rows: Token[][] = []
  for (const [index, token] of source.entries()) {
    if (index === 0 || toText(token) === ',') continue
    if (token.kind !== 'group') break
    rows.push(splitList(token.tokens)[position] ?? [])
  }
  return readParameters(rows)
}

/** Returns the numbers of `$n` or `$n::uuid`; none if one of the values is something else. */
function readParameters(values: Token[][]): number[] {
  const parameters = values.flatMap(([first, cast]) =>
    first?.kind === 'parameter' && ['', '::', 'as'].includes(toText(cast)) ? [Number(first.text)] : [],
  )
  return parameters.length === values.length ? parameters : []
}

function splitList(tokens: Token[]): Token[][] {
  const items: Token[][] = [[]]
  for (const token of tokens) {
    if (toText(token) === ',') items.push([])
    else items.at(-1)?.push(token)
  }
  return items
}

/** A part of a statement: a word in lower case, a parameter, punctuation, or what a pair of parentheses encloses. */
type Token = { kind: 'word' | 'parameter' | 'symbol'; text: string } | { kind: 'group'; tokens: Token[] }

const TOKEN =
  /(?<skipped>\s+|--[^\n]*|\/\*.*?\*\/)|(?<literal>[eE]?'(?:[^'\\]|''|\\.)*'|\$(?<tag>[a-z_]*)\$.*?\$\k<tag>\$)|"(?<quoted>(?:[^"]|"")*)"|\$(?<parameter>\d+)|(?<word>[a-z_][a-z0-9_]*)|(?<symbol>::|.)/gis

/** Splits a statement into tokens, nested by parentheses. Comments are left out, and literals are symbols. */
function tokenize(sql: string): Token[] {
  const outer: Token[][] = []
  let tokens: Token[] = []
  for (const { groups = {} } of sql.matchAll(TOKEN)) {
    const { skipped, literal, quoted, parameter, word, symbol = '' } = groups
    if (skipped !== undefined) continue
    if (literal !== undefined) tokens.push({ kind: 'symbol', text: `'` })
    else if (quoted !== undefined) tokens.push({ kind: 'word', text: quoted })
    else if (parameter !== undefined) tokens.push({ kind: 'parameter', text: parameter })
    else if (word !== undefined) tokens.push({ kind: 'word', text: word.toLowerCase() })
    else if (symbol === '(') {
      const group: Token[] = []
      tokens.push({ kind: 'group', tokens: group })
      outer.push(tokens)
      tokens = group
    } else if (symbol === ')') tokens = outer.pop() ?? tokens
    else tokens.push({ kind: 'symbol', text: symbol })
  }
  return outer[0] ?? tokens
}

/** Returns the text of a token, `(` for a group and an empty text for none. */
function toText(token: Token | undefined): string {
  if (!token) return ''
  return token.kind === 'group' ? '(' : token.text
}
