import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { getField } from '../fields.ts'

const LINE = /^\s*(?:#.*|(?:export\s+)?[A-Za-z_]\w*\s*=(?<value>.*))?$/

/** Reads a file of `NAME=value` lines; a file that does not exist is empty. Node.js itself skips lines it cannot read. */
export function readEnvFile(path: string): { variables: NodeJS.Dict<string>; problems: string[] } {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    const code = getField(error, 'code')
    const problems = code === 'ENOENT' ? [] : [`${path}: cannot be read (${String(code)}). Correct or remove it`]
    return { variables: {}, problems }
  }
  const problems = text.split(/\r?\n/).flatMap((line, index) => {
    const match = LINE.exec(line)
    const value = match?.groups?.['value']?.trim() ?? ''
    if (!match) return [`${path}: line ${index + 1} must be NAME=value, or a comment that starts with #`]
    return isQuoteOpen(value) ? [`${path}: line ${index + 1} must end its value with the quote it starts with`] : []
  })
  return { variables: parseEnv(text), problems }
}

function isQuoteOpen(value: string): boolean {
  const quote = value[0] ?? ''
  return ['"', "'", '`'].includes(quote) && !value.slice(1).includes(quote)
}
