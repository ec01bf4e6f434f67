import ts from 'typescript'
import {
  BANNED_COMPOUNDS,
  BANNED_DOCSTRING_STARTS,
  BANNED_FUNCTION_NAMES,
  BANNED_PHRASES,
  BANNED_PREFIXES,
  BANNED_WORDS,
} from './banned-words.ts'
import { at, splitWords, walk, type SourceFile, type TextFile } from './source-files.ts'

const LEGITIMATE = /third[- ]part(?:y|ies)/gi
const TOKEN = /[A-Za-z0-9]+(?:[_-]+[A-Za-z0-9]+)*/g

/** Lists the banned words of a file and of its name, each with its line. */
export function listBannedWords({ path, text }: TextFile): string[] {
  const name = listOfLine(path.replace(/\.[a-z.]+$/, '')).map(
    (violation) => `${path}:1: in the file name: ${violation}`,
  )
  const lines = text.split('\n').flatMap((line, index) => {
    return listOfLine(line).map((violation) => `${path}:${index + 1}: ${violation}`)
  })
  return [...name, ...lines]
}

/** Lists the banned words of the titles of a test file. */
export function listBannedTitles(file: SourceFile): string[] {
  const violations: string[] = []
  walk(file.ast, (node) => {
    if (!ts.isCallExpression(node)) return
    const title = node.arguments[0]
    if (!/^(?:describe|it)(?:\.only)?$/.test(node.expression.getText()) || !title) return
    violations.push(...listOfLine(title.getText()).map((violation) => `${at(file, title)}: ${violation}`))
  })
  return violations
}

function listOfLine(line: string): string[] {
  const text = line.replace(LEGITIMATE, '')
  const prose = ` ${splitWords(text).join(' ')} `
  const phrases = Object.entries(BANNED_PHRASES).filter(([phrase]) =>
    prose.includes(` ${splitWords(phrase).join(' ')} `),
  )
  const tokens = text.match(TOKEN) ?? []
  return [...phrases.map(([phrase, instead]) => say(phrase, instead)), ...new Set(tokens.flatMap(listOfToken))]
}

function listOfToken(token: string): string[] {
  const words = splitWords(token)
  const joined = ` ${words.join(' ')} `
  const single = words.flatMap((word) => (Object.hasOwn(BANNED_WORDS, word) ? [say(word, BANNED_WORDS[word])] : []))
  const first = words.length > 1 ? BANNED_PREFIXES[words[0] ?? ''] : undefined
  const compounds = Object.entries(BANNED_COMPOUNDS)
    .filter(([compound]) => joined.includes(` ${compound} `))
    .map(([, instead]) => say(token, instead))
  return [...single, ...(first ? [say(token, first)] : []), ...compounds]
}

function say(word: string, instead: string | undefined): string {
  return `"${word}" (use: ${instead})`
}

/** Lists the functions and methods whose name has a banned shape. */
export function listBannedFunctionNames(file: SourceFile): string[] {
  const violations: string[] = []
  walk(file.ast, (node) => {
    const name = functionName(node)
    const banned = name && BANNED_FUNCTION_NAMES.find(([shape]) => shape.test(name.getText()))
    if (name && banned) violations.push(`${at(file, name)}: ${say(name.getText(), banned[1])}`)
  })
  return violations
}

function functionName(node: ts.Node): ts.Node | undefined {
  if (ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node) || ts.isMethodSignature(node)) return node.name
  const isNamed = ts.isVariableDeclaration(node) || ts.isPropertyDeclaration(node) || ts.isPropertyAssignment(node)
  if (isNamed && node.initializer && ts.isFunctionLike(node.initializer)) return node.name
  return ts.isPropertySignature(node) && node.type && ts.isFunctionTypeNode(node.type) ? node.name : undefined
}

/** Lists the docstrings that start with a question word. */
export function listBannedDocstrings({ path, text }: TextFile): string[] {
  const start = new RegExp(String.raw`/\*\*[\s*]*(${BANNED_DOCSTRING_STARTS.join('|')})\b`, 'g')
  return [...text.matchAll(start)].map((match) => {
    const line = text.slice(0, match.index).split('\n').length
    return `${path}:${line}: a docstring starts with "${match[1]}"; start with a verb in the third person or a noun`
  })
}
