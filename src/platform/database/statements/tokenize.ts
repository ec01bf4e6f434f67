/** A part of a statement: a word in lower case, a parameter, punctuation, or what a pair of parentheses encloses. */
export type Token = { kind: 'word' | 'parameter' | 'symbol'; text: string } | { kind: 'group'; tokens: Token[] }

const TOKEN =
  /(?<skipped>\s+|--[^\n]*|\/\*.*?\*\/)|(?<literal>[eE]?'(?:[^'\\]|''|\\.)*'|\$(?<tag>[a-z_]*)\$.*?\$\k<tag>\$)|"(?<quoted>(?:[^"]|"")*)"|\$(?<parameter>\d+)|(?<word>[a-z_][a-z0-9_]*)|(?<symbol>::|.)/gis

/** Splits a statement into tokens, nested by parentheses. Comments are left out, and literals are symbols. */
export function tokenize(sql: string): Token[] {
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
export function toText(token: Token | undefined): string {
  if (!token) return ''
  return token.kind === 'group' ? '(' : token.text
}
