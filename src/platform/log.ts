import { hostname } from 'node:os'
import pino, { type DestinationStream } from 'pino'
import type { LogEvent } from './log-events.ts'
import { serializeError } from './security/serialize-error.ts'

type Report = (fields: { event: LogEvent; [field: string]: unknown }, message: string) => void

/** Lines that operators may alert on name their event. */
export type Logger = Omit<pino.Logger, 'warn' | 'error' | 'child'> & {
  warn: Report
  error: Report
  child(fields: Record<string, unknown>): Logger
}
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

/** Fields of every line of a process. */
export type ProcessFields = { process: string; role: string; version: string }

/** Returns the fields that tell the lines of this process from those of others, wherever they are collected. */
export function toProcessFields(roles: readonly string[], version: string): ProcessFields {
  const role = roles.length > 1 ? 'both' : (roles[0] ?? 'none')
  return { process: `${hostname()}:${process.pid}`, role, version }
}

/**
 * Creates the logger. Only fields named at the call site are logged: no bodies, cookies, tokens or phone numbers. Errors
 * are passed as `err`, whose serializer leaves out the values that they carry.
 */
export function createLogger(
  level: LogLevel,
  destination?: pino.DestinationStream,
  base: ProcessFields | null = null,
): Logger {
  const options: pino.LoggerOptions = {
    level,
    base,
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: serializeError },
  }
  return destination ? pino(options, destination) : pino(options)
}

/** Writes the log for a person at a terminal. Synchronous, so that the last lines before an exit are written. */
export async function createPrettyDestination(): Promise<DestinationStream> {
  const { default: pretty } = await import('pino-pretty')
  const stream = pretty({ sync: true, translateTime: 'SYS:HH:MM:ss.l', singleLine: true })
  return { write: (line) => void stream.write(line.includes(ANSWERED) ? shortenRequest(line) : line) }
}

/** Message of the line that each request writes. */
export const ANSWERED = 'request answered'

/** Makes `GET /api/contacts 200 9.7 ms` of the line of a request; the answer has its ID in `X-Request-Id`. */
function shortenRequest(line: string): string {
  const { level, time, msg, ...request } = JSON.parse(line) as Record<string, unknown>
  if (msg !== ANSWERED) return line
  const { method, path, status, durationMs, requestId } = request
  const text = `${String(method)} ${String(path)} ${String(status)} ${String(durationMs)} ms`
  return `${JSON.stringify({ level, time, msg: text, ...(Number(status) >= 500 ? { requestId } : {}) })}\n`
}
