import { getField } from '../fields.ts'

const MESSAGE_LENGTH_MAX = 300
const CAUSES_MAX = 4
const FRAMES_MAX = 20

/** Fields of errors of Postgres, the operating system and SMTP that identify objects of ours, or are numbers. */
const FIELDS = ['code', 'syscall', 'constraint', 'table', 'column', 'responseCode']
const IDENTIFIER = /^[\w.:-]{1,64}$/

/** Classes of SQLSTATE whose messages contain names of the schema but no values. */
const NAMES_ONLY = /^(?:23|42)...$/

export type SerializedError = {
  name: string
  message?: string
  stack?: string
  cause?: SerializedError
  [field: string]: unknown
}

/**
 * Converts an error to what may be logged. Errors repeat the data they fail on: Postgres in its detail, parsers in
 * quotes. Therefore only known fields, the fixed part of the message and the frames of the stack are kept.
 */
export function serializeError(error: unknown): SerializedError {
  return serialize(error, CAUSES_MAX)
}

function serialize(error: unknown, causesMax: number): SerializedError {
  if (!(error instanceof Error)) return { name: error === null ? 'null' : typeof error }
  // Objection's errors repeat the message of the driver's, which has the fields too.
  if ('nativeError' in error && causesMax > 0) {
    return { ...serialize(error.nativeError, causesMax - 1), name: toName(error), stack: toFrames(error) }
  }
  const cause = error.cause ?? getFirst(getField(error, 'errors'))
  return {
    name: toName(error),
    message: toMessage(error),
    ...Object.fromEntries(FIELDS.flatMap((name) => toEntry(name, getField(error, name)))),
    stack: toFrames(error),
    ...(cause === undefined || causesMax === 0 ? {} : { cause: serialize(cause, causesMax - 1) }),
  }
}

/** The driver names all errors of Postgres `error`. */
function toName({ name, constructor }: Error): string {
  const text = name === 'error' ? constructor.name : name
  return IDENTIFIER.test(text) ? text : 'Error'
}

function toEntry(name: string, value: unknown): [string, string | number][] {
  if (typeof value === 'number') return [[name, value]]
  return typeof value === 'string' && IDENTIFIER.test(value) ? [[name, value]] : []
}

function toMessage(error: Error): string {
  const issues = getField(error, 'issues')
  if (Array.isArray(issues)) return describeIssues(issues)
  const { message } = error
  const code = getField(error, 'code')
  if (typeof code === 'string' && NAMES_ONLY.test(code)) return limit(message)
  return limit(removeValues(message))
}

/** Messages repeat values in quotes, in angle brackets or after a colon. */
function removeValues(message: string): string {
  const [fixed = ''] = message.split(/: |\n/, 1)
  return fixed
    .replace(/(["'`<]).*["'`>]/s, '"…"')
    .replaceAll(/\S+@\S+/g, '…')
    .replaceAll(/[?#]\S+/g, '?…')
    .replaceAll(/\+?\d{6,}/g, '…')
}

/** Paths may contain keys that a customer chose, so only plain names are kept. */
function describeIssues(issues: unknown[]): string {
  const texts = issues.slice(0, 5).map((issue) => {
    const path = getField(issue, 'path')
    const names = (Array.isArray(path) ? path : []).map((key) => (/^[a-z]{1,30}$/i.test(String(key)) ? key : '*'))
    return `${String(getField(issue, 'code'))} at ${names.join('.')}`
  })
  return limit(texts.join(', '))
}

function limit(message: string): string {
  return message.length <= MESSAGE_LENGTH_MAX ? message : `${message.slice(0, MESSAGE_LENGTH_MAX)}…`
}

const FRAME = /^\s+at [^\n]{1,300}$/

/** The last lines of a stack are its frames; the lines before them are the message, which may look like frames. */
function toFrames(error: Error): string {
  const { stack = '', message } = error
  const start = stack.indexOf(message)
  return stack
    .slice(start < 0 ? 0 : start + message.length)
    .split('\n')
    .filter((line) => FRAME.test(line))
    .slice(-FRAMES_MAX)
    .map((line) => line.trim())
    .join('\n')
}

function getFirst(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : undefined
}
