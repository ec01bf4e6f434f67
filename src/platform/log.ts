import pino, { type DestinationStream } from 'pino'
import { serializeError } from './security/serialize-error.ts'

export type Logger = pino.Logger
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

/**
 * Creates the logger. Only fields named at the call site are logged: no bodies, cookies, tokens or phone numbers. Errors
 * are passed as `err`, whose serializer leaves out the values that they carry.
 */
export function createLogger(level: LogLevel, destination?: pino.DestinationStream): Logger {
  const options: pino.LoggerOptions = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: serializeError },
  }
  return destination ? pino(options, destination) : pino(options)
}

/** Writes the log for a person at a terminal. Synchronous, so that the last lines before an exit are written. */
export async function createPrettyDestination(): Promise<DestinationStream> {
  const { default: pretty } = await import('pino-pretty')
  return pretty({ sync: true, translateTime: 'SYS:HH:MM:ss.l', singleLine: true })
}
